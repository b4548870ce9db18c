// The sentences at the top of a report.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "core/counted.hpp"
#include "core/units.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report_data.hpp"

namespace cclgym {

namespace {

std::string swept_sentence(const ReportInput& input, std::size_t cells) {
  std::set<std::string> fabrics;
  std::set<std::string> collectives;
  std::set<std::string> algorithms;
  std::set<std::string> tuners;
  std::set<std::uint64_t> sizes;
  std::set<std::uint64_t> seeds;
  for (const ResultRow& row : input.rows) {
    fabrics.insert(row.fabric);
    collectives.insert(row.collective);
    (row.program == row.algorithm ? algorithms : tuners).insert(row.algorithm);
    sizes.insert(row.size_bytes);
    seeds.insert(row.seed);
  }
  std::string text =
      fmt::format("{} of {} cells were simulated: {}, {}, {}{}, ", input.rows.size(), cells,
                  counted(fabrics.size(), "fabric"), counted(collectives.size(), "collective"),
                  counted(algorithms.size(), "algorithm"),
                  tuners.empty() ? "" : ", " + counted(tuners.size(), "tuner"));
  text += counted(sizes.size(), "size");
  if (!sizes.empty()) {
    text +=
        fmt::format(" from {} to {}", format_bytes(*sizes.begin()), format_bytes(*sizes.rbegin()));
  }
  return text + ", " + counted(seeds.size(), "seed") + ".";
}

// Who is fastest at how many of the sizes of all blocks.
std::string winners_sentence(const ResultSummary& summary) {
  constexpr std::size_t kMostNames = 4;
  std::map<std::string, std::size_t> wins;
  std::size_t total = 0;
  for (const BlockSummary& block : summary.blocks) {
    for (const SizeSummary& size : block.sizes) {
      ++wins[size.best.algorithm];
      ++total;
    }
  }
  std::vector<std::pair<std::string, std::size_t>> order(wins.begin(), wins.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < std::min(order.size(), kMostNames); ++i) {
    text += fmt::format("{}{} in {}", i == 0 ? "" : ", ", order[i].first, order[i].second);
    shown += order[i].second;
  }
  if (shown < total) text += fmt::format(", others in {}", total - shown);
  return fmt::format("Fastest, of {} (fabric, collective and size): {}.", counted(total, "case"),
                     text);
}

std::string speedup_sentence(const Experiment& experiment, const ResultSummary& summary) {
  double logs = 0;
  std::size_t count = 0;
  const ConfigTime* least = nullptr;
  const ConfigTime* most = nullptr;
  std::string place;
  for (const BlockSummary& block : summary.blocks) {
    for (const SizeSummary& size : block.sizes) {
      const auto& speedup = size.best.speedup;
      if (!speedup || !(*speedup > 0)) continue;
      logs += std::log(*speedup);
      ++count;
      if (least == nullptr || *speedup < *least->speedup) least = &size.best;
      if (most == nullptr || *speedup > *most->speedup) {
        most = &size.best;
        place =
            fmt::format("{}, {} at {}", block.fabric, block.collective, format_bytes(size.bytes));
      }
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "The fastest is {:.2f} times as fast as {} in the geometric mean of {} ({:.2f} to {:.2f}, "
      "the most on {} by {}).",
      std::exp(logs / static_cast<double>(count)), baseline_text(experiment),
      counted(count, "case"), *least->speedup, *most->speedup, place, most->algorithm);
}

std::string measured_sentence(const ResultSummary& summary) {
  std::vector<double> ratios;
  for (const BlockSummary& block : summary.blocks) {
    for (const MeasuredError& error : block.errors) {
      for (const auto& ratio : error.ratios) ratios.push_back(ratio.second);
    }
  }
  if (ratios.empty()) return "";
  return fmt::format(
      "The simulated time is off the measured one by {:.1f} % in the geometric mean of {}.",
      100 * geometric_mean_error(ratios), counted(ratios.size(), "point"));
}

std::string published_sentence(const std::vector<PublishedBlock>& blocks) {
  std::size_t rows = 0;
  std::size_t holding = 0;
  for (const PublishedBlock& block : blocks) {
    for (const PublishedComparison& one : block.rows) {
      ++rows;
      if (one.judged().holds()) ++holding;
    }
  }
  if (rows == 0) return "";
  return fmt::format("{} of {} published speedups hold.", holding, rows);
}

}  // namespace

std::vector<std::string> outcome_sentences(const Experiment& experiment, const ReportInput& input,
                                           const ResultSummary& summary) {
  if (input.rows.empty()) return {};
  std::vector<std::string> sentences{
      swept_sentence(input, experiment.cells.size()), winners_sentence(summary),
      speedup_sentence(experiment, summary), measured_sentence(summary),
      published_sentence(compare_published(experiment, input.rows, input.published))};
  std::erase(sentences, "");
  return sentences;
}

}  // namespace cclgym
