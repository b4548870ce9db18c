#include "calibration/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "core/files/csv.hpp"

namespace cclgym {

namespace {

struct ComparisonRow {
  std::string system;
  int ranks = 0;
  int nodes = 0;
  std::string collective;
  std::string nccl_version;
  std::uint64_t size_bytes = 0;
  int rows = 0;
  double measured_us = 0;
  double measured_min_us = 0;
  double measured_max_us = 0;
  double simulated_us = 0;
  double ratio = 0;
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  int instances = 0;
  int threads = 0;
  std::string cost_model;
  std::string seen;
};

constexpr std::array<CsvColumn<ComparisonRow>, 19> kColumns{{
    {"system", &ComparisonRow::system},
    {"ranks", &ComparisonRow::ranks},
    {"nodes", &ComparisonRow::nodes},
    {"collective", &ComparisonRow::collective},
    {"nccl_version", &ComparisonRow::nccl_version},
    {"size_bytes", &ComparisonRow::size_bytes},
    {"rows", &ComparisonRow::rows},
    {"measured_us", &ComparisonRow::measured_us},
    {"measured_min_us", &ComparisonRow::measured_min_us},
    {"measured_max_us", &ComparisonRow::measured_max_us},
    {"simulated_us", &ComparisonRow::simulated_us},
    {"ratio", &ComparisonRow::ratio},
    {"algorithm", &ComparisonRow::algorithm},
    {"protocol", &ComparisonRow::protocol},
    {"channels", &ComparisonRow::channels},
    {"instances", &ComparisonRow::instances},
    {"threads", &ComparisonRow::threads},
    {"cost_model", &ComparisonRow::cost_model},
    {"seen", &ComparisonRow::seen},
}};

std::string summary_line(const Comparison& comparison) {
  int simulated = 0;
  for (const Compared& each : comparison.cells) simulated += each.cell.rows;
  std::string text = fmt::format("{}: {} rows, {} of them simulated as {} cells", comparison.file,
                                 comparison.rows, simulated, comparison.cells.size());
  if (comparison.left_out > 0)
    text += fmt::format("; {} left out by the filter", comparison.left_out);
  return text + "\n";
}

std::string refused_text(const std::vector<RefusedRows>& refused) {
  std::string text;
  for (const RefusedRows& group : refused) {
    text += fmt::format("{}not simulated: {} row{} of {}: {}\n", text.empty() ? "\n" : "",
                        group.rows, group.rows == 1 ? "" : "s", group.system, group.reason);
  }
  return text;
}

// Names the sets that do not state their fitted rows.
std::string not_said_text(const Comparison& comparison) {
  std::set<std::string> sets;
  for (const Compared& each : comparison.cells) {
    if (each.seen == Seen::NotSaid) sets.insert(each.prediction.cost_model);
  }
  if (sets.empty()) return "";
  return fmt::format(
      "\nnot said: no key fitted_to in {} tells which rows were fitted and which held out\n",
      fmt::join(sets, ", "));
}

}  // namespace

Comparison compare(const std::string& file, MeasuredCells cells,
                   const std::optional<std::string>& cost_model, const TaskOptions& options,
                   const PredictionProgress& progress) {
  Comparison comparison;
  comparison.file = file;
  comparison.refused = std::move(cells.refused);
  comparison.rows = cells.rows;
  comparison.left_out = cells.left_out;
  if (cost_model) {
    for (MeasuredCell& cell : cells.cells) cell.cost_model = *cost_model;
  }
  Predictor predictor(std::move(cells.cells), options.jobs);
  predictor.share(options, {});
  comparison.warnings = predictor.warnings();
  const std::vector<Prediction> predictions = predictor.predict(progress);
  std::map<std::pair<std::string, std::string>, RefusedRows> refused;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const MeasuredCell& cell = predictor.cells()[i];
    if (predictions[i].refusal.empty()) {
      comparison.cells.push_back({cell, predictions[i], seen_by(predictor.set_of(i), cell)});
      continue;
    }
    RefusedRows& group = refused[{cell.system, predictions[i].refusal}];
    group.system = cell.system;
    group.reason = predictions[i].refusal;
    group.rows += cell.rows;
  }
  for (auto& [key, group] : refused) comparison.refused.push_back(std::move(group));
  return comparison;
}

std::vector<ComparedPart> parts_of(const Comparison& comparison) {
  std::map<std::pair<std::string, Seen>, ComparedPart> parts;
  for (const Compared& each : comparison.cells) {
    ComparedPart& part = parts[{each.cell.system, each.seen}];
    part.system = each.cell.system;
    part.seen = each.seen;
    part.cells.push_back(each);
  }
  std::vector<ComparedPart> list;
  for (auto& [key, part] : parts) list.push_back(std::move(part));
  return list;
}

std::string comparison_text(const Comparison& comparison, std::size_t worst) {
  std::string text = summary_line(comparison);
  if (comparison.cells.empty()) return text + refused_text(comparison.refused);
  text += "\n" + error_table_text("system", by_system_and_seen(comparison.cells));
  text += not_said_text(comparison);
  for (const ComparedPart& part : parts_of(comparison)) {
    text += fmt::format("\n{}, {}\n", part.system, to_string(part.seen));
    std::vector<ErrorSummary> rows = by_reach(part.cells);
    const std::vector<ErrorSummary> sets = by_cost_model(part.cells);
    if (sets.size() > 1) rows.insert(rows.end(), sets.begin(), sets.end());
    for (const auto& more :
         {by_collective(part.cells), by_ranks(part.cells), by_size_decade(part.cells)}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    text += error_table_text("", rows);
  }
  if (worst > 0) {
    text += "\nworst cells\n" + worst_cells_text(worst_cells(comparison.cells, worst));
  }
  return text + refused_text(comparison.refused);
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text = csv_header(kColumns) + "\n";
  for (const Compared& each : comparison.cells) {
    const MeasuredCell& cell = each.cell;
    const Config& config = each.prediction.config;
    text += csv_line(kColumns, ComparisonRow{.system = cell.system,
                                             .ranks = cell.ranks,
                                             .nodes = cell.nodes,
                                             .collective = std::string(to_string(cell.collective)),
                                             .nccl_version = cell.named ? "" : cell.nccl_version,
                                             .size_bytes = cell.bytes,
                                             .rows = cell.rows,
                                             .measured_us = cell.time_s * 1e6,
                                             .measured_min_us = cell.least_s * 1e6,
                                             .measured_max_us = cell.most_s * 1e6,
                                             .simulated_us = each.prediction.time_s * 1e6,
                                             .ratio = each.prediction.time_s / cell.time_s,
                                             .algorithm = config.algorithm,
                                             .protocol = std::string(to_string(config.protocol)),
                                             .channels = config.channels,
                                             .instances = config.instances,
                                             .threads = config.threads,
                                             .cost_model = each.prediction.cost_model,
                                             .seen = std::string(to_string(each.seen))}) +
            "\n";
  }
  return text;
}

}  // namespace cclgym
