#include "calibration/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "calibration/intervals/held_out_intervals.hpp"
#include "core/counted.hpp"
#include "core/files/csv.hpp"
#include "core/split.hpp"

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
  std::string interval_low_us;
  std::string interval_high_us;
  std::string rows_inside;
  std::string interval_from;
};

constexpr std::array<CsvColumn<ComparisonRow>, 23> kColumns{{
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
    {"interval_low_us", &ComparisonRow::interval_low_us},
    {"interval_high_us", &ComparisonRow::interval_high_us},
    {"rows_inside", &ComparisonRow::rows_inside},
    {"interval_from", &ComparisonRow::interval_from},
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

// Fields of the CSV are never quoted.
std::string without_commas(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

// Intervals of the held-out cells. The table's interval for a class, if it has one, is stated for
// cells that it was not made from.
void state_all_intervals(const TimeIntervals& table, const std::vector<FoundInterval>& of_table,
                         Comparison& comparison) {
  for (std::size_t i = 0; i < comparison.cells.size(); ++i) {
    Compared& each = comparison.cells[i];
    if (each.seen == Seen::HeldOut && !made_from(table, each)) each.interval = of_table[i];
  }
  state_intervals(comparison.cells, table.coverage);
}

// Coverage of the intervals of held-out cells; empty without held-out cells.
std::string intervals_text(const Comparison& comparison) {
  const std::vector<CoverageRow> coverage = coverage_of(comparison.cells, comparison.coverage);
  if (coverage.empty()) return "";
  const std::string heading =
      fmt::format("{} intervals of held-out cells", percent_text(comparison.coverage));
  // The last row has all cells.
  if (coverage.back().stated.cells == 0) {
    return fmt::format(
        "\n{}: none, because too few cells have other numbers of ranks, and the table has no "
        "interval for them that was made from other rows\n",
        heading);
  }
  return fmt::format("\n{}, made without their own numbers of ranks\n{}", heading,
                     coverage_text(coverage));
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

// Microseconds of a time that was read from a file: 27.5, not 27.499999999999996.
double printed_us(double time_s) { return std::round(time_s * 1e12) / 1e6; }

}  // namespace

Comparison compare(const std::string& file, MeasuredCells cells,
                   const std::optional<std::string>& cost_model, const TaskOptions& options,
                   const PredictionProgress& progress, const TimeIntervals& table) {
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
  comparison.warnings = std::move(cells.warnings);
  comparison.warnings.insert(comparison.warnings.end(), predictor.warnings().begin(),
                             predictor.warnings().end());
  const std::vector<Prediction> predictions = predictor.predict(progress);
  std::map<std::pair<std::string, std::string>, RefusedRows> refused;
  std::vector<FoundInterval> of_table;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const MeasuredCell& cell = predictor.cells()[i];
    if (predictions[i].refusal.empty()) {
      const ParameterSet& set = predictor.set_of(i);
      const Fabric& fabric = predictor.fabric_of(i);
      comparison.cells.push_back({.cell = cell,
                                  .prediction = predictions[i],
                                  .seen = seen_by(set, cell),
                                  .fabric = fabric.name(),
                                  .values = values_digest(set.model)});
      of_table.push_back(find_interval(table, set, fabric, kind_of(cell)));
      continue;
    }
    RefusedRows& group = refused[{cell.system, predictions[i].refusal}];
    group.system = cell.system;
    group.reason = predictions[i].refusal;
    group.rows += cell.rows;
  }
  for (auto& [key, group] : refused) comparison.refused.push_back(std::move(group));
  comparison.coverage = table.coverage;
  state_all_intervals(table, of_table, comparison);
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
  text += intervals_text(comparison);
  for (const ComparedPart& part : parts_of(comparison)) {
    text += fmt::format("\n{}\n", part_title(part.system, part.seen, comparison.cells));
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
    const std::optional<LogInterval>& interval = each.interval.interval;
    const auto end_us = [&](double log_factor) {
      return fmt::format("{:.6g}", each.prediction.time_s * std::exp(log_factor) * 1e6);
    };
    text += csv_line(kColumns,
                     ComparisonRow{
                         .system = cell.system,
                         .ranks = cell.ranks,
                         .nodes = cell.nodes,
                         .collective = std::string(to_string(cell.collective)),
                         .nccl_version = cell.named ? "" : cell.nccl_version,
                         .size_bytes = cell.bytes,
                         .rows = cell.rows,
                         .measured_us = printed_us(cell.time_s),
                         .measured_min_us = printed_us(cell.least_s),
                         .measured_max_us = printed_us(cell.most_s),
                         .simulated_us = each.prediction.time_s * 1e6,
                         .ratio = each.prediction.time_s / cell.time_s,
                         .algorithm = config.algorithm,
                         .protocol = std::string(to_string(config.protocol)),
                         .channels = config.channels,
                         .instances = config.instances,
                         .threads = config.threads,
                         .cost_model = each.prediction.cost_model,
                         .seen = std::string(to_string(each.seen)),
                         .interval_low_us = interval ? end_us(interval->low) : "",
                         .interval_high_us = interval ? end_us(interval->high) : "",
                         .rows_inside = interval ? fmt::format("{:.4g}", share_inside(each)) : "",
                         .interval_from = without_commas(each.interval.basis)}) +
            "\n";
  }
  return text;
}

}  // namespace cclgym
