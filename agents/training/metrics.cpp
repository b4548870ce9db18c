#include "agents/training/metrics.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <string_view>

#include "core/error.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace {

std::string number(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{:.6g}", value);
}

// Number in a field of a row; 0 if it has none.
double field_of(std::string_view row, std::size_t field) {
  for (; field > 0; --field) {
    const std::size_t comma = row.find(',');
    if (comma == std::string_view::npos) return 0;
    row.remove_prefix(comma + 1);
  }
  double value = 0;
  std::from_chars(row.data(), row.data() + row.size(), value);
  return value;
}

constexpr std::size_t kTimeField = 11;  // number of the column cpu_s

}  // namespace

std::string metrics_header(const TrainConfig& config) {
  std::string line =
      "iteration,phase,calls,mean_reward,policy_loss,value_loss,entropy_nat,divergence_nat,"
      "clipped,gradient_norm,learning_rate,cpu_s";
  for (const EvaluationPart& part : config.evaluation) {
    for (const char* what : {"mean_reward", "oracle_ratio", "worst_cell", "default_ratio"}) {
      line += fmt::format(",{}:{}", part.label, what);
    }
  }
  return line + "\n";
}

std::string metrics_row(const TrainConfig& config, const IterationReport& report) {
  std::string line = fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{}", report.iteration,
      report.warm_start ? "warm-start" : config.algorithm_name(), report.calls,
      number(report.mean_reward), number(report.loss.policy), number(report.loss.value),
      number(report.loss.entropy), number(report.loss.divergence), number(report.loss.clipped),
      number(report.gradient_norm), number(report.learning_rate), number(report.cpu_s));
  for (std::size_t i = 0; i < config.evaluation.size(); ++i) {
    if (report.evaluation.empty()) {
      line += ",,,,";
      continue;
    }
    const PolicyMeasure& measure = report.evaluation[i];
    line += fmt::format(",{},{},{},{}", number(measure.mean_reward), number(measure.oracle_ratio),
                        number(measure.worst_cell), number(measure.default_ratio));
  }
  return line + "\n";
}

MetricsFile::MetricsFile(const TrainConfig& config, std::string path, int iteration)
    : config_(config), path_(std::move(path)) {
  std::string kept = metrics_header(config);
  if (iteration > 0 && std::filesystem::exists(path_)) {
    constexpr std::size_t kLargestFile = std::size_t{1} << 30;
    const std::string text = read_text_file(path_, kLargestFile);
    // Keeps the complete lines after the header that belong to finished iterations.
    for (std::size_t begin = text.find('\n'); begin != std::string::npos;) {
      const std::size_t end = text.find('\n', begin + 1);
      if (end == std::string::npos) break;
      int row = 0;
      std::from_chars(text.data() + begin + 1, text.data() + end, row);
      if (row >= 1 && row <= iteration) {
        const std::string line = text.substr(begin + 1, end - begin);
        kept += line;
        cpu_s_ = field_of(line, kTimeField);
      }
      begin = end;
    }
  }
  write_text_file(path_, kept);
}

void MetricsFile::add(const IterationReport& report) {
  std::FILE* const file = std::fopen(path_.c_str(), "ab");
  const std::string row = metrics_row(config_, report);
  const bool written =
      file != nullptr && std::fwrite(row.data(), 1, row.size(), file) == row.size();
  if (file != nullptr && std::fclose(file) == 0 && written) return;
  throw UserError(quoted(path_, 200) + ": cannot be written");
}

}  // namespace cclgym
