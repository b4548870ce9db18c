#include "calibration/fit/error_table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "calibration/measure/systems.hpp"
#include "core/statistics.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

int decade_of(std::uint64_t bytes) {
  int decade = 0;
  for (std::uint64_t rest = bytes; rest >= 10; rest /= 10) ++decade;
  return decade;
}

std::string decade_name(int decade) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  const auto text = [&](int power) {
    return fmt::format("{} {}", power % 3 == 0 ? 1 : power % 3 == 1 ? 10 : 100, kUnits[power / 3]);
  };
  return fmt::format("{} to {}", text(decade), text(decade + 1));
}

std::string factor(double log_value) { return fmt::format("{:.3f}", std::exp(log_value)); }
std::string logarithm(double value) { return fmt::format("{:.3f}", value); }

}  // namespace

double Compared::log_error() const { return std::log(prediction.time_s / cell.time_s); }

ErrorSummary summarise(std::string group, std::span<const Compared* const> cells) {
  ErrorSummary summary{.group = std::move(group)};
  std::vector<double> errors;
  for (const Compared* compared : cells) {
    const double error = compared->log_error();
    errors.push_back(std::abs(error));
    summary.rows += compared->cell.rows;
    summary.bias += error;
    summary.mean += std::abs(error);
  }
  if (errors.empty()) return summary;
  const auto count = static_cast<double>(errors.size());
  summary.cells = static_cast<int>(errors.size());
  summary.bias /= count;
  summary.mean /= count;
  summary.median = median(errors);
  std::sort(errors.begin(), errors.end());
  summary.p90 = errors[static_cast<std::size_t>(std::ceil(0.9 * count)) - 1];
  return summary;
}

std::vector<ErrorSummary> summarise_by(std::span<const Compared> cells,
                                       const std::function<std::string(const Compared&)>& group_of,
                                       const std::function<double(const Compared&)>& order_of) {
  std::map<std::pair<double, std::string>, std::vector<const Compared*>> groups;
  for (const Compared& cell : cells) groups[{order_of(cell), group_of(cell)}].push_back(&cell);
  std::vector<ErrorSummary> summaries;
  for (const auto& [key, members] : groups) summaries.push_back(summarise(key.second, members));
  return summaries;
}

std::vector<ErrorSummary> by_size_decade(std::span<const Compared> cells) {
  const auto decade = [](const Compared& each) { return decade_of(each.cell.bytes); };
  return summarise_by(
      cells, [&](const Compared& each) { return decade_name(decade(each)); },
      [&](const Compared& each) { return decade(each); });
}

std::vector<ErrorSummary> by_ranks(std::span<const Compared> cells) {
  return summarise_by(
      cells, [](const Compared& each) { return fmt::format("{} ranks", each.cell.ranks); },
      [](const Compared& each) { return each.cell.ranks; });
}

std::vector<ErrorSummary> by_collective(std::span<const Compared> cells) {
  return summarise_by(
      cells, [](const Compared& each) { return std::string(to_string(each.cell.collective)); },
      [](const Compared&) { return 0; });
}

std::vector<ErrorSummary> by_system(std::span<const Compared> cells) {
  return summarise_by(
      cells, [](const Compared& each) { return each.cell.system; },
      [](const Compared&) { return 0; });
}

std::string part_title(std::string_view system, Seen seen, std::span<const Compared> cells) {
  const bool published = std::ranges::any_of(
      measured_systems(), [&](const MeasuredSystem& known) { return known.name == system; });
  const bool fitted = std::ranges::any_of(cells, [&](const Compared& each) {
    return each.cell.system == system && each.seen == Seen::Fitted;
  });
  if (seen == Seen::HeldOut && !published && !fitted) return std::string(system);
  return fmt::format("{}, {}", system, to_string(seen));
}

std::vector<ErrorSummary> by_system_and_seen(std::span<const Compared> cells) {
  return summarise_by(
      cells, [&](const Compared& each) { return part_title(each.cell.system, each.seen, cells); },
      [](const Compared&) { return 0; });
}

std::vector<ErrorSummary> by_cost_model(std::span<const Compared> cells) {
  return summarise_by(
      cells, [](const Compared& each) { return "set " + each.prediction.cost_model; },
      [](const Compared&) { return 0; });
}

std::vector<ErrorSummary> by_reach(std::span<const Compared> cells) {
  return summarise_by(
      cells,
      [](const Compared& each) { return each.cell.nodes == 1 ? "one node" : "several nodes"; },
      [](const Compared& each) { return each.cell.nodes == 1 ? 0 : 1; });
}

std::string error_table_text(const std::string& heading, std::span<const ErrorSummary> rows) {
  std::vector<Column> columns{{.heading = heading, .left = true},
                              {.heading = "cells"},
                              {.heading = "rows"},
                              {.heading = "mean |ln|"},
                              {.heading = "factor"},
                              {.heading = "median"},
                              {.heading = "p90"},
                              {.heading = "sim/meas"}};
  for (const ErrorSummary& row : rows) {
    const std::vector<std::string> texts{row.group,
                                         fmt::format("{}", row.cells),
                                         fmt::format("{}", row.rows),
                                         logarithm(row.mean),
                                         factor(row.mean),
                                         logarithm(row.median),
                                         logarithm(row.p90),
                                         factor(row.bias)};
    for (std::size_t i = 0; i < texts.size(); ++i) columns[i].cells.push_back(texts[i]);
  }
  return format_columns(columns);
}

std::vector<const Compared*> worst_cells(std::span<const Compared> cells, std::size_t most) {
  std::vector<const Compared*> worst;
  for (const Compared& cell : cells) worst.push_back(&cell);
  std::stable_sort(worst.begin(), worst.end(), [](const Compared* a, const Compared* b) {
    return std::abs(a->log_error()) > std::abs(b->log_error());
  });
  worst.resize(std::min(most, worst.size()));
  return worst;
}

std::string worst_cells_text(std::span<const Compared* const> cells) {
  std::vector<Column> columns{{.heading = "cell", .left = true}, {.heading = "measured"},
                              {.heading = "simulated"},          {.heading = "sim/meas"},
                              {.heading = "rows", .left = true}, {.heading = "as", .left = true}};
  for (const Compared* each : cells) {
    const Config& config = each->prediction.config;
    const std::vector<std::string> texts{
        each->cell.label(),
        format_time(each->cell.time_s),
        format_time(each->prediction.time_s),
        factor(each->log_error()),
        std::string(to_string(each->seen)),
        fmt::format("{} {}, {} channel{}", config.algorithm, to_string(config.protocol),
                    config.channels, config.channels == 1 ? "" : "s")};
    for (std::size_t i = 0; i < texts.size(); ++i) columns[i].cells.push_back(texts[i]);
  }
  return format_columns(columns);
}

}  // namespace cclgym
