#include "cost_models/intervals/time_intervals.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.hpp"
#include "core/hash.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kTimeIntervals;
}  // namespace embedded

namespace {

// Factors of e^20 are no intervals; the bound keeps typing errors out.
constexpr double kMaxLog = 20;

const std::vector<OptionSpec>& table_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "coverage",
       .kind = OptionKind::Real,
       .description = "share of measured times that the intervals aim to contain",
       .min = 0.5,
       .max = 0.999,
       .required = true},
      {.name = "source", .description = "measured file and command that made the table"},
      {.name = "intervals",
       .shape = OptionShape::List,
       .description = "one item per class of calls",
       .required = true},
  };
  return specs;
}

OptionSpec log_option(std::string name, std::string description) {
  return {.name = std::move(name),
          .kind = OptionKind::Real,
          .description = std::move(description),
          .min = -kMaxLog,
          .max = kMaxLog,
          .required = true};
}

const std::vector<OptionSpec>& row_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "set", .description = "name of a parameter set", .required = true},
      {.name = "values", .description = "digest of the set's values", .required = true},
      {.name = "fabric", .description = "name of a fabric", .required = true},
      {.name = "nodes",
       .kind = OptionKind::Choice,
       .description = "nodes of the calls",
       .required = true,
       .choices = {"one", "several"}},
      {.name = "collective", .description = "collective of the calls", .required = true},
      {.name = "algorithm", .description = "algorithm that was named; not given: NCCL's choice"},
      log_option("low", "lower bound of ln(measured / simulated)"),
      log_option("high", "upper bound of ln(measured / simulated)"),
      {.name = "cells",
       .kind = OptionKind::Integer,
       .description = "number of measured cells behind the interval",
       .min = 1,
       .max = 1e9,
       .required = true},
      {.name = "rows",
       .shape = OptionShape::List,
       .description = "rows of these cells, like an item of fitted_to",
       .required = true},
  };
  return specs;
}

const OptionSpec& row_option(std::string_view name) { return find_option(row_options(), name); }

std::string text_of(const YamlValue& item, std::string_view name) {
  const YamlValue* value = item.find(name);
  return value == nullptr ? std::string() : read_text(*value, row_option(name));
}

IntervalRow read_interval_row(const YamlValue& item) {
  check_keys(item, row_options(), "interval");
  IntervalRow row{.set = text_of(item, "set"),
                  .values = text_of(item, "values"),
                  .fabric = text_of(item, "fabric"),
                  .one_node = read_choice(*item.find("nodes"), row_option("nodes")) == 0,
                  .kind = {text_of(item, "collective"), text_of(item, "algorithm")}};
  row.interval = {read_real(*item.find("low"), row_option("low")),
                  read_real(*item.find("high"), row_option("high"))};
  if (row.interval.low > row.interval.high) {
    throw UserError(item.find("low")->location(),
                    fmt::format("found {}, which is above high, {}; expected at most that",
                                row.interval.low, row.interval.high));
  }
  row.cells = static_cast<int>(read_integer(*item.find("cells"), row_option("cells")));
  row.rows = read_fitted_rows(*item.find("rows"));
  return row;
}

// The systems of the rows: "Alps-GH200, Polaris".
std::string systems_text(const IntervalRow& row) {
  std::set<std::string> systems;
  for (const FittedRows& rows : row.rows) systems.insert(rows.system);
  return fmt::format("{}", fmt::join(systems, ", "));
}

// "allreduce", "allreduce by tree".
std::string kind_text(const CallKind& kind) {
  return kind.collective + (kind.algorithm.empty() ? "" : " by " + kind.algorithm);
}

std::string nodes_text(bool one_node) { return one_node ? "one node" : "several nodes"; }

FoundInterval none(std::string reason) { return {.basis = std::move(reason)}; }

}  // namespace

std::string values_digest(const CostModel& model) {
  static const CostModel defaults;
  TextHash hash;
  for (const CostParameter& parameter : cost_parameters()) {
    const std::optional<double> value = parameter.get(model);
    // A parameter that a later release adds at its default changes no digest.
    if (!value || value == parameter.get(defaults)) continue;
    hash.add(parameter.name);
    hash.add(parameter_text(parameter, *value));
  }
  return hash.hex();
}

TimeIntervals read_time_intervals(const YamlValue& document) {
  check_keys(document, table_options(), "table of intervals");
  TimeIntervals table;
  table.coverage = read_real(*document.find("coverage"), find_option(table_options(), "coverage"));
  if (const YamlValue* source = document.find("source")) {
    table.source = read_text(*source, find_option(table_options(), "source"));
  }
  for (const YamlValue& item : document.find("intervals")->items()) {
    table.rows.push_back(read_interval_row(item));
  }
  return table;
}

TimeIntervals load_time_intervals(const std::string& path) {
  return read_time_intervals(load_yaml_file(path));
}

std::string to_yaml(const TimeIntervals& table) {
  std::string text = fmt::format(
      "# Intervals of ln(measured / simulated), made by cclgym compare --write-intervals from\n"
      "# cells that no fit of the sets has seen (docs/intervals.md). Make the table again when "
      "sets\n"
      "# or simulated times change.\n"
      "coverage: {}\nsource: {}\nintervals:{}\n",
      table.coverage, yaml_scalar(table.source), table.rows.empty() ? " []" : "");
  for (const IntervalRow& row : table.rows) {
    std::string item =
        fmt::format("set: {}\nvalues: {}\nfabric: {}\nnodes: {}\ncollective: {}\n",
                    yaml_scalar(row.set), yaml_scalar(row.values), yaml_scalar(row.fabric),
                    row.one_node ? "one" : "several", yaml_scalar(row.kind.collective));
    if (!row.kind.algorithm.empty()) {
      item += fmt::format("algorithm: {}\n", yaml_scalar(row.kind.algorithm));
    }
    item += fmt::format("low: {:.4f}\nhigh: {:.4f}\ncells: {}\n", row.interval.low,
                        row.interval.high, row.cells);
    std::string rows = fitted_rows_yaml(row.rows);
    rows.replace(0, rows.find(':'), "rows");
    item += rows;
    for (std::size_t begin = 0; begin < item.size();) {
      const std::size_t end = item.find('\n', begin);
      text += fmt::format("{}{}\n", begin == 0 ? "  - " : "    ", item.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return text;
}

const TimeIntervals& shipped_time_intervals() {
  static const TimeIntervals table =
      read_time_intervals(parse_yaml(embedded::kTimeIntervals, "shipped.yaml (built in)"));
  return table;
}

FoundInterval find_interval(const TimeIntervals& table, const ParameterSet& set,
                            const Fabric& fabric, const CallKind& kind) {
  const CostModel& model = set.model;
  if (!model.misfit.empty()) return none(fmt::format("set {} is {}", model.name, model.misfit));
  const bool one_node = fabric.servers() == 1;
  const std::string digest = values_digest(model);
  for (const IntervalRow& row : table.rows) {
    if (row.set != model.name) continue;
    if (row.values != digest) {
      return none(fmt::format(
          "the values of set {} are not those of the table of intervals; make the table again",
          model.name));
    }
    if (row.fabric != fabric.name() || row.one_node != one_node || row.kind != kind) continue;
    return {.interval = row.interval,
            .cells = row.cells,
            .basis = fmt::format("{} held-out cells of {}, {}: {}", row.cells, systems_text(row),
                                 nodes_text(one_node), kind_text(kind))};
  }
  return none(fmt::format("no held-out cells of {} under set {} on {} of fabric {}",
                          kind_text(kind), model.name, nodes_text(one_node), fabric.name()));
}

std::string interval_text(const TimeIntervals& table, const ParameterSet& set, const Fabric& fabric,
                          const std::string& collective) {
  const FoundInterval found = find_interval(table, set, fabric, {.collective = collective});
  if (!found.interval) return "";
  return fmt::format(
      "{} of NCCL's measured times are expected at {:.2f} to {:.2f} x the simulated ({})",
      percent_text(table.coverage), std::exp(found.interval->low), std::exp(found.interval->high),
      found.basis);
}

}  // namespace cclgym
