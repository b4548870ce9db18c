#include "experiments/training/training_page.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/text_file.hpp"
#include "core/report/page.hpp"
#include "core/version.hpp"
#include "experiments/training/break_points.hpp"
#include "experiments/training/choice_ranges.hpp"
#include "experiments/training/training_facts.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kReportBaseScript;
extern const std::string_view kReportPlotsScript;
extern const std::string_view kReportSizePlotScript;
extern const std::string_view kTrainingStyle;
extern const std::string_view kTrainingCurvesScript;
extern const std::string_view kTrainingStripsScript;
extern const std::string_view kTrainingFrontScript;
extern const std::string_view kTrainingPageScript;
}  // namespace embedded

namespace {

using Json = nlohmann::ordered_json;

// A CSV field as JSON: a number if it reads as one, null if it is empty, otherwise a string.
Json field_json(std::string_view field) {
  if (field.empty()) return nullptr;
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error == std::errc() && end == field.data() + field.size()) return number;
  return std::string(field);
}

Json line_json(std::string_view line) {
  Json fields = Json::array();
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    fields.push_back(field_json(line.substr(at, end - at)));
    at = end + 1;
  }
  return fields;
}

Json curve_json(const LearningCurve& curve) {
  Json rows = Json::array();
  const std::string_view text = curve.csv;
  // A last line without a line break was cut off.
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string_view::npos;) {
    rows.push_back(line_json(text.substr(at, end - at)));
    at = end + 1;
  }
  Json columns = rows.empty() ? Json::array() : rows.front();
  if (!rows.empty()) rows.erase(0);
  return {{"seed", curve.seed}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json config_json(const EvaluatedCell& cell) {
  Json json{{"bytes", cell.bytes},
            {"ratio", cell.oracle_ratio},
            {"time_us", cell.time_us},
            {"algorithm", short_program_name(cell.config.algorithm)},
            {"protocol", std::string(to_string(cell.config.protocol))},
            {"channels", cell.config.channels},
            {"instances", cell.config.instances},
            {"tile_bytes", cell.config.tile_bytes}};
  if (!cell.not_nccl.empty()) json["nccl"] = cell.not_nccl;
  if (cell.costs.rounds_per_chunk > 0) {
    json["steps"] = cell.costs.steps;
    json["rounds"] = cell.costs.rounds_per_chunk;
  }
  return json;
}

Json front_json(const CollectiveFront& front) {
  Json points = Json::array();
  for (const FrontSchedule& schedule : front.points) {
    points.push_back({{"steps", schedule.steps}, {"rounds", schedule.rounds_per_chunk}});
  }
  return {{"points", std::move(points)},
          {"min_steps", front.min_steps},
          {"min_rounds", front.min_rounds}};
}

Json regime_json(const PublishedRow& row) {
  Json protocols = Json::array();
  for (const Protocol protocol : row.protocols) {
    protocols.push_back(std::string(to_string(protocol)));
  }
  return {{"fabric", row.fabric},
          {"servers", row.servers},
          {"gpus", row.gpus},
          {"collective", row.collective},
          {"range", row.range_text()},
          {"from", row.size_from},
          {"to", row.size_to ? Json(*row.size_to) : Json(nullptr)},
          {"variant", row.variant},
          {"algorithm", row.algorithms},
          {"protocol", std::move(protocols)},
          {"channels", row.channels},
          {"instances", row.instances},
          {"low", row.speedup_low},
          {"high", row.speedup_high},
          {"baseline", row.baseline},
          {"source", row.source}};
}

Json part_json(const EvaluatedPart& part, std::span<const PublishedRow> regimes) {
  Json summary = Json::array();
  for (const PolicySummary& one : summarize_runs(part.runs)) {
    summary.push_back({{"policy", one.policy},
                       {"seeds", one.seeds},
                       {"ratio", one.oracle_ratio},
                       {"least", one.least_oracle_ratio},
                       {"most", one.most_oracle_ratio},
                       {"p90", one.p90_cell},
                       {"worst", one.worst_cell},
                       {"speedup", one.default_speedup}});
  }
  Json collectives = Json::array();
  for (const std::string& name : collectives_of(part)) {
    Json runs = Json::array();
    for (const PolicyRun& run : part.runs) {
      std::vector<EvaluatedCell> cells = run.cells;
      std::erase_if(cells, [&](const EvaluatedCell& cell) { return cell.collective != name; });
      std::ranges::sort(cells, {}, &EvaluatedCell::bytes);
      Json points = Json::array();
      for (const EvaluatedCell& cell : cells) points.push_back(config_json(cell));
      runs.push_back({{"policy", run.policy}, {"seed", run.seed}, {"points", std::move(points)}});
    }
    Json published = Json::array();
    for (const PublishedRow& row : regimes) {
      if (row.collective == name && is_of_fabric(row, part.fabric)) {
        published.push_back(regime_json(row));
      }
    }
    collectives.push_back(
        {{"name", name}, {"runs", std::move(runs)}, {"published", std::move(published)}});
    for (const CollectiveFront& front : part.fronts) {
      if (to_string(front.collective) == name) collectives.back()["front"] = front_json(front);
    }
  }
  return {{"label", part.label},
          {"fabric", part.fabric},
          {"summary", std::move(summary)},
          {"nccl", part.nccl},
          {"collectives", std::move(collectives)}};
}

// The regimes of the evaluated collectives, on any fabric.
Json regimes_json(const TrainingPage& page, std::span<const PublishedRow> regimes) {
  Json rows = Json::array();
  for (const PublishedRow& row : regimes) {
    const bool asked = std::ranges::any_of(page.parts, [&](const EvaluatedPart& part) {
      const std::vector<std::string> names = collectives_of(part);
      return std::ranges::find(names, row.collective) != names.end();
    });
    if (asked) rows.push_back(regime_json(row));
  }
  return rows;
}

std::string data_json(const TrainingPage& page, std::span<const PublishedRow> regimes) {
  // Columns and rows stay empty: the scripts shared with experiment reports then draw nothing.
  Json data{{"name", page.title},
            {"version", program_version()},
            {"columns", Json::array()},
            {"table", {{"count", 0}, {"columns", Json::object()}}},
            {"speedups", Json::array()},
            {"baseline", "the default"},
            {"curves", Json::array()},
            {"parts", Json::array()},
            {"published", regimes_json(page, regimes)}};
  data["outcome"] = training_outcome(page.curves, page.parts);
  data["facts"] = Json::array();
  const auto add_fact = [&](const std::string& name, const std::string& text) {
    data["facts"].push_back({name, text});
  };
  for (const auto& [name, text] : page.facts) add_fact(name, text);
  for (const auto& [name, text] : curve_facts(page.curves)) add_fact(name, text);
  add_fact("Version", "cclgym " + std::string(program_version()));
  for (const LearningCurve& curve : page.curves) data["curves"].push_back(curve_json(curve));
  for (const EvaluatedPart& part : page.parts) data["parts"].push_back(part_json(part, regimes));
  return data.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string page_text(const TrainingPage& page, std::span<const PublishedRow> regimes) {
  std::string text;
  for (const EvaluatedPart& part : page.parts) {
    text += part.label + "\n" + evaluation_table(summarize_runs(part.runs)) +
            choices_text(part, regimes) + break_points_text(part, regimes) + "\n";
  }
  for (const LearningCurve& curve : page.curves) {
    text += fmt::format("seed {}\n{}\n", curve.seed, curve.csv);
  }
  return text;
}

}  // namespace

std::vector<LearningCurve> read_learning_curves(const std::string& folder,
                                                std::span<const std::uint64_t> seeds) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 28;
  std::vector<LearningCurve> curves;
  for (const std::uint64_t seed : seeds) {
    const std::string path = fmt::format("{}/seed-{}/metrics.csv", folder, seed);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    curves.push_back({seed, read_text_file(path, kLargestFile)});
  }
  return curves;
}

std::string training_html(const TrainingPage& page, std::span<const PublishedRow> regimes) {
  return html_page({.title = page.title,
                    .notice = "The plots of this page need JavaScript. The figures as text:",
                    .text = page_text(page, regimes),
                    .json = data_json(page, regimes),
                    .scripts = {embedded::kReportBaseScript, embedded::kReportPlotsScript,
                                embedded::kReportSizePlotScript, embedded::kTrainingCurvesScript,
                                embedded::kTrainingStripsScript, embedded::kTrainingFrontScript,
                                embedded::kTrainingPageScript},
                    .styles = {embedded::kTrainingStyle}});
}

}  // namespace cclgym
