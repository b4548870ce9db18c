// The page of a comparison.
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/compare/compare.hpp"
#include "calibration/compare/decisions.hpp"
#include "calibration/intervals/held_out_intervals.hpp"
#include "core/counted.hpp"
#include "core/report/page.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kCompareScript;
}  // namespace embedded

namespace {

using Json = nlohmann::ordered_json;

Json table_json(const std::vector<ErrorSummary>& rows) {
  Json table = Json::array();
  for (const ErrorSummary& row : rows) {
    table.push_back({row.group, row.cells, row.rows, row.mean, row.median, row.p90, row.bias});
  }
  return table;
}

// Both ends of a cell's interval in us and its origin; null if the cell has none.
Json interval_json(const Compared& each) {
  if (!each.interval.interval) return nullptr;
  const LogInterval& interval = *each.interval.interval;
  const double time_us = each.prediction.time_s * 1e6;
  return {time_us * std::exp(interval.low), time_us * std::exp(interval.high), each.interval.basis};
}

// Share of rows inside, share of medians inside and width; nulls without cells.
Json coverage_json(const Coverage& coverage) {
  if (coverage.cells == 0) return {nullptr, nullptr, nullptr};
  return {coverage.inside, coverage.medians, coverage.width};
}

Json coverage_table_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const CoverageRow& row : coverage_of(comparison.cells, comparison.coverage)) {
    Json line{row.group, row.stated.cells, row.rows};
    for (const Json& value : coverage_json(row.stated)) line.push_back(value);
    for (const Coverage* other : {&row.tails, &row.one, &row.fitted}) {
      const Json values = coverage_json(*other);
      line.push_back(values[0]);
      line.push_back(values[2]);
    }
    line.push_back(row.without);
    rows.push_back(std::move(line));
  }
  return {{"aim", comparison.coverage}, {"rows", rows}};
}

// Simulated cells of one system, and their errors.
Json system_json(const std::string& name, const std::vector<Compared>& cells) {
  Json points = Json::array();
  std::set<std::string> sets;
  for (const Compared& each : cells) {
    const Config& config = each.prediction.config;
    points.push_back({each.cell.ranks, std::string(to_string(each.cell.collective)),
                      each.cell.bytes, each.cell.time_s * 1e6, each.prediction.time_s * 1e6,
                      fmt::format("{} {}, {} channels", config.algorithm,
                                  to_string(config.protocol), config.channels),
                      each.cell.named ? "" : each.cell.nccl_version, to_string(each.seen),
                      interval_json(each)});
    sets.insert(each.prediction.cost_model);
  }
  return {{"name", name},
          {"cost_model", fmt::format("{}", fmt::join(sets, ", "))},
          {"points", points},
          {"parts", Json::array()}};
}

Json part_json(const ComparedPart& part) {
  return {{"seen", to_string(part.seen)},
          {"sets", table_json(by_cost_model(part.cells))},
          {"collectives", table_json(by_collective(part.cells))},
          {"ranks", table_json(by_ranks(part.cells))},
          {"sizes", table_json(by_size_decade(part.cells))}};
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// How good the simulator's choices are; null if no call was measured with two configurations.
Json decisions_json(const Comparison& comparison) {
  const std::vector<DecisionGroup> groups = decision_groups(comparison.cells);
  if (groups.empty()) return nullptr;
  Json summaries = Json::array();
  for (const DecisionSummary& row : decision_summaries(groups)) {
    summaries.push_back({row.name, row.groups, row.regret, row.worst, row.best_chosen,
                         or_null(row.own), or_null(row.ring_simple), row.chance,
                         row.rank_correlation});
  }
  Json rows = Json::array();
  for (const DecisionGroup& group : groups) {
    const ForcedRun& best = group.runs.front();
    rows.push_back({group.system, group.ranks, std::string(to_string(group.collective)),
                    group.bytes, group.regret(), group.chosen().name,
                    group.chosen().measured_s * 1e6, best.name, best.measured_s * 1e6,
                    or_null(group.own_regret()), std::string(to_string(group.seen))});
  }
  return {{"summaries", summaries}, {"groups", rows}};
}

// Sentences about what was compared and what came out.
std::vector<std::string> outcome_of(const Comparison& comparison) {
  std::vector<std::string> sentences{
      fmt::format("{} measured rows of {} were simulated as {}{}.", comparison.rows,
                  comparison.file, counted(comparison.cells.size(), "cell"),
                  comparison.left_out == 0
                      ? ""
                      : fmt::format("; {} were left out by the filter", comparison.left_out))};
  for (const ErrorSummary& one : by_system_and_seen(comparison.cells)) {
    sentences.push_back(fmt::format(
        "{}: simulated / measured {:.2f} in the geometric mean of {}, mean |ln| {:.3f}, 90 % below "
        "{:.3f}.",
        one.group, std::exp(one.bias), counted(one.cells, "cell"), one.mean, one.p90));
  }
  return sentences;
}

}  // namespace

std::string comparison_html(const Comparison& comparison) {
  Json data{{"file", comparison.file},
            {"version", program_version()},
            {"outcome", outcome_of(comparison)},
            {"table", table_json(by_system_and_seen(comparison.cells))},
            {"systems", Json::array()},
            {"refused", Json::array()},
            {"decisions", decisions_json(comparison)},
            {"coverage", coverage_table_json(comparison)}};
  const std::vector<ComparedPart> parts = parts_of(comparison);
  for (const ErrorSummary& system : by_system(comparison.cells)) {
    std::vector<Compared> cells;
    for (const Compared& each : comparison.cells) {
      if (each.cell.system == system.group) cells.push_back(each);
    }
    Json json = system_json(system.group, cells);
    for (const ComparedPart& part : parts) {
      if (part.system == system.group) json["parts"].push_back(part_json(part));
    }
    data["systems"].push_back(std::move(json));
  }
  for (const RefusedRows& refused : comparison.refused) {
    data["refused"].push_back({refused.system, refused.rows, refused.reason});
  }
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string text = comparison_text(comparison, 50);
  if (!data["decisions"].is_null()) {
    text += "\n" + decisions_text(decision_groups(comparison.cells), 50);
  }
  return html_page({.title = "Predicted and measured",
                    .notice = "The plots of this page need JavaScript. The figures as text:",
                    .text = text,
                    .json = json,
                    .scripts = {embedded::kCompareScript}});
}

}  // namespace cclgym
