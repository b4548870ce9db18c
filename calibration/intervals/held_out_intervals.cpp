#include "calibration/intervals/held_out_intervals.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "calibration/fit/seen_rows.hpp"
#include "calibration/intervals/conformal.hpp"
#include "core/text_columns.hpp"

namespace cclgym {

namespace {

using Cells = std::vector<const Compared*>;
using SystemKey = std::tuple<std::string, std::string, std::string, bool>;
using ClassKey = std::pair<SystemKey, CallKind>;
using Selection = std::function<bool(const Compared&)>;

// System, set, fabric, one node.
SystemKey system_of(const Compared& each) {
  return {each.cell.system, each.prediction.cost_model, each.fabric, each.cell.nodes == 1};
}

ClassKey class_of(const Compared& each) { return {system_of(each), kind_of(each.cell)}; }

// Cells whose errors may depend on each other beyond what their class explains.
std::pair<SystemKey, int> group_of(const Compared& each) {
  return {system_of(each), each.cell.ranks};
}

std::string class_name(const Compared& each) {
  const CallKind kind = kind_of(each.cell);
  return fmt::format("{}, {}, {}, {}{}{}", each.cell.system, each.prediction.cost_model,
                     each.cell.nodes == 1 ? "one node" : "several nodes", kind.collective,
                     kind.algorithm.empty() ? "" : " by ", kind.algorithm);
}

CellErrors errors_of(const Compared& each) {
  CellErrors errors;
  for (const double time_s : each.cell.times_s) {
    errors.push_back(std::log(time_s / each.prediction.time_s));
  }
  if (errors.empty()) errors.push_back(-each.log_error());
  return errors;
}

Cells select(std::span<const Compared> cells, Seen seen, const Selection& wanted) {
  Cells chosen;
  for (const Compared& each : cells) {
    if (each.seen == seen && wanted(each)) chosen.push_back(&each);
  }
  return chosen;
}

std::vector<CellErrors> errors_of_all(const Cells& cells) {
  std::vector<CellErrors> errors;
  for (const Compared* each : cells) errors.push_back(errors_of(*each));
  return errors;
}

std::optional<LogInterval> from_cells(const Cells& cells, double coverage) {
  return conformal_interval(errors_of_all(cells), coverage);
}

std::optional<LogInterval> from_groups(const Cells& cells, double coverage) {
  std::map<std::pair<SystemKey, int>, std::vector<CellErrors>> groups;
  for (const Compared* each : cells) groups[group_of(*each)].push_back(errors_of(*each));
  std::vector<std::vector<CellErrors>> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return grouped_interval(list, coverage);
}

// The interval of a class from its own cells. Cells of one number of ranks do not show how errors
// differ between numbers of ranks, so a class with only one of them has the wider of its own
// interval and that of all groups that are on one node, or on several, as it is.
std::optional<LogInterval> from_class(const Cells& own, const Cells& all, double coverage) {
  std::optional<LogInterval> interval = from_cells(own, coverage);
  std::set<int> ranks;
  for (const Compared* each : own) ranks.insert(each->cell.ranks);
  if (!interval || ranks.size() > 1) return interval;
  Cells alike;
  std::copy_if(all.begin(), all.end(), std::back_inserter(alike), [&](const Compared* each) {
    return (each->cell.nodes == 1) == (own.front()->cell.nodes == 1);
  });
  const std::optional<LogInterval> others = from_groups(alike, coverage);
  return others && others->high > interval->high ? others : interval;
}

IntervalRow row_of(const Cells& cells, const LogInterval& interval) {
  std::vector<const MeasuredCell*> measured;
  for (const Compared* each : cells) measured.push_back(&each->cell);
  return {.interval = interval,
          .cells = static_cast<int>(cells.size()),
          .rows = fitted_rows_of(measured, {})};
}

double share_of(const CellErrors& errors, const LogInterval& interval) {
  double inside = 0;
  for (const double error : errors) inside += error >= interval.low && error <= interval.high;
  return inside / static_cast<double>(errors.size());
}

// Held-out cells of the cell's class with other numbers of ranks.
Cells other_ranks(std::span<const Compared> cells, const Compared& each) {
  return select(cells, Seen::HeldOut, [&](const Compared& other) {
    return class_of(other) == class_of(each) && other.cell.ranks != each.cell.ranks;
  });
}

// Held-out cells of all sets, but for those with the cell's system and number of ranks.
Cells other_groups(std::span<const Compared> cells, const Compared& each) {
  return select(cells, Seen::HeldOut, [&](const Compared& other) {
    return other.cell.system != each.cell.system || other.cell.ranks != each.cell.ranks;
  });
}

// Intervals that could be stated for the cells of a group.
struct Alternatives {
  std::optional<LogInterval> tails, one, fitted;
};

Alternatives alternatives_of(std::span<const Compared> cells, const Compared& each,
                             double coverage) {
  const Cells fitted = select(cells, Seen::Fitted, [&](const Compared& other) {
    return class_of(other) == class_of(each);
  });
  return {.tails = equal_tails_interval(errors_of_all(other_ranks(cells, each)), coverage),
          .one = from_cells(other_groups(cells, each), coverage),
          .fitted = from_cells(fitted, coverage)};
}

// Adds the cell to the sums; nothing without an interval.
void add_cell(const Compared& each, const std::optional<LogInterval>& interval, Coverage& sums) {
  if (!interval) return;
  const double median = -each.log_error();
  ++sums.cells;
  sums.inside += share_of(errors_of(each), *interval);
  sums.medians += median >= interval->low && median <= interval->high;
  sums.width += interval->high - interval->low;
}

void add_coverage(const Compared& each, const Alternatives& alternatives, CoverageRow& row) {
  add_cell(each, each.interval.interval, row.stated);
  if (each.interval.interval) {
    row.rows += each.cell.rows;
  } else {
    ++row.without;
  }
  add_cell(each, alternatives.tails, row.tails);
  add_cell(each, alternatives.one, row.one);
  add_cell(each, alternatives.fitted, row.fitted);
}

CoverageRow mean_of(CoverageRow row) {
  for (Coverage* sums : {&row.stated, &row.tails, &row.one, &row.fitted}) {
    for (double* sum : {&sums->inside, &sums->medians, &sums->width}) {
      *sum /= std::max(1, sums->cells);
    }
  }
  return row;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// "89.4 % x3.60": the share of rows inside, and the factor between the ends.
std::string coverage_cell(const Coverage& coverage) {
  if (coverage.cells == 0) return "-";
  return fmt::format("{} x{:.2f}", percent(coverage.inside), std::exp(coverage.width));
}

}  // namespace

CallKind kind_of(const MeasuredCell& cell) {
  return {.collective = std::string(to_string(cell.collective)),
          .algorithm = cell.named ? cell.named->algorithm : std::string()};
}

TimeIntervals intervals_from(std::span<const Compared> cells, double coverage,
                             const std::string& source) {
  TimeIntervals table{.coverage = coverage, .source = source};
  const Cells all = select(cells, Seen::HeldOut, [](const Compared&) { return true; });
  std::map<std::tuple<std::string, std::string, bool, CallKind>, Cells> classes;
  for (const Compared* each : all) {
    classes[{each->prediction.cost_model, each->fabric, each->cell.nodes == 1, kind_of(each->cell)}]
        .push_back(each);
  }
  for (const auto& [key, members] : classes) {
    const std::optional<LogInterval> interval = from_class(members, all, coverage);
    if (!interval) continue;
    IntervalRow row = row_of(members, *interval);
    std::tie(row.set, row.fabric, row.one_node, row.kind) = key;
    row.values = members.front()->values;
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool made_from(const TimeIntervals& table, const Compared& compared) {
  const MeasuredCell& cell = compared.cell;
  const std::set<std::string> configs =
      cell.configs.empty() ? std::set<std::string>{""} : cell.configs;
  for (const IntervalRow& row : table.rows) {
    for (const FittedRows& rows : row.rows) {
      for (const std::string& config : configs) {
        if (rows.hold(cell.system, cell.ranks, to_string(cell.collective), cell.bytes, config)) {
          return true;
        }
      }
    }
  }
  return false;
}

void state_intervals(std::span<Compared> cells, double coverage) {
  std::map<std::pair<ClassKey, int>, FoundInterval> of_group;
  for (Compared& each : cells) {
    if (each.seen != Seen::HeldOut || each.interval.interval) continue;
    const auto [found, fresh] = of_group.try_emplace({class_of(each), each.cell.ranks});
    if (fresh) {
      FoundInterval& stated = found->second;
      const Cells own = other_ranks(cells, each);
      stated = {.interval = from_class(own, other_groups(cells, each), coverage),
                .cells = static_cast<int>(own.size()),
                .basis = "other numbers of ranks"};
      if (!stated.interval) stated = {.basis = "too few held-out cells"};
    }
    each.interval = found->second;
  }
}

double share_inside(const Compared& compared) {
  return share_of(errors_of(compared), *compared.interval.interval);
}

std::vector<CoverageRow> coverage_of(std::span<const Compared> cells, double coverage) {
  std::map<std::pair<ClassKey, int>, Alternatives> alternatives;
  std::map<ClassKey, CoverageRow> classes;
  CoverageRow total{.group = "all"};
  for (const Compared& each : cells) {
    if (each.seen != Seen::HeldOut) continue;
    const auto [known, fresh] = alternatives.try_emplace({class_of(each), each.cell.ranks});
    if (fresh) known->second = alternatives_of(cells, each, coverage);
    CoverageRow& row = classes[class_of(each)];
    row.group = class_name(each);
    add_coverage(each, known->second, row);
    add_coverage(each, known->second, total);
  }
  std::vector<CoverageRow> list;
  for (const auto& [key, row] : classes) list.push_back(mean_of(row));
  if (list.size() > 1) list.push_back(mean_of(total));
  return list;
}

std::string coverage_text(std::span<const CoverageRow> rows) {
  std::vector<Column> stated{{.heading = "held-out cells of", .left = true},
                             {.heading = "cells"},
                             {.heading = "rows"},
                             {.heading = "rows inside"},
                             {.heading = "medians"},
                             {.heading = "without"}};
  std::vector<Column> others{{.heading = "for comparison", .left = true},
                             {.heading = "equal tails"},
                             {.heading = "one for all"},
                             {.heading = "fitted cells"}};
  for (const CoverageRow& row : rows) {
    const std::vector<std::string> of_stated{
        row.group,
        fmt::format("{}", row.stated.cells),
        fmt::format("{}", row.rows),
        coverage_cell(row.stated),
        row.stated.cells > 0 ? percent(row.stated.medians) : "-",
        fmt::format("{}", row.without)};
    const std::vector<std::string> of_others{row.group, coverage_cell(row.tails),
                                             coverage_cell(row.one), coverage_cell(row.fitted)};
    for (std::size_t i = 0; i < of_stated.size(); ++i) stated[i].cells.push_back(of_stated[i]);
    for (std::size_t i = 0; i < of_others.size(); ++i) others[i].cells.push_back(of_others[i]);
  }
  const bool compared = std::ranges::any_of(rows, [](const CoverageRow& row) {
    return row.tails.cells + row.one.cells + row.fitted.cells > 0;
  });
  return format_columns(stated) + (compared ? "\n" + format_columns(others) : "");
}

}  // namespace cclgym
