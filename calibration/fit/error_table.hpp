// Errors of simulated times against measured ones.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/fit/predict.hpp"
#include "calibration/fit/seen_rows.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "cost_models/intervals/time_intervals.hpp"

namespace cclgym {

/// A cell with its prediction.
struct Compared {
  MeasuredCell cell;
  Prediction prediction;
  Seen seen = Seen::NotSaid;  ///< state for fits of the set used for the simulation
  std::string fabric{};       ///< name of the fabric
  std::string values{};       ///< values_digest of the set
  /// Interval of a held-out cell, and the rows that it comes from (state_intervals).
  FoundInterval interval{};

  /// ln(simulated / measured).
  [[nodiscard]] double log_error() const;
};

/// Errors of a group of cells, as |ln(simulated / measured)|.
struct ErrorSummary {
  std::string group;
  int cells = 0;
  int rows = 0;
  double mean = 0;  ///< mean |ln|; exp(mean) is the geometric mean of the factor
  double median = 0;
  double p90 = 0;   ///< 90 % quantile of |ln| (nearest-rank method)
  double bias = 0;  ///< mean ln; > 0: simulated times are too long
};

[[nodiscard]] ErrorSummary summarise(std::string group, std::span<const Compared* const> cells);

/// One summary per name returned by `group_of`, in the order of `order_of`, then by name.
[[nodiscard]] std::vector<ErrorSummary> summarise_by(
    std::span<const Compared> cells, const std::function<std::string(const Compared&)>& group_of,
    const std::function<double(const Compared&)>& order_of);

/// Errors by size decade: "1 KB to 10 KB".
[[nodiscard]] std::vector<ErrorSummary> by_size_decade(std::span<const Compared> cells);
[[nodiscard]] std::vector<ErrorSummary> by_ranks(std::span<const Compared> cells);
[[nodiscard]] std::vector<ErrorSummary> by_collective(std::span<const Compared> cells);
/// Errors by system, in the order of the cells.
[[nodiscard]] std::vector<ErrorSummary> by_system(std::span<const Compared> cells);
/// Title of the cells of a system that fits have seen, or have not: "Polaris, held out". A system
/// of the user's own without fitted cells has no word for it: "mine".
[[nodiscard]] std::string part_title(std::string_view system, Seen seen,
                                     std::span<const Compared> cells);
/// Errors by part_title().
[[nodiscard]] std::vector<ErrorSummary> by_system_and_seen(std::span<const Compared> cells);
/// Errors by the cost model set used for the simulation: "set h100".
[[nodiscard]] std::vector<ErrorSummary> by_cost_model(std::span<const Compared> cells);
/// Errors on one node and on several: "one node" and "several nodes".
[[nodiscard]] std::vector<ErrorSummary> by_reach(std::span<const Compared> cells);

/// Aligned columns under `heading`.
[[nodiscard]] std::string error_table_text(const std::string& heading,
                                           std::span<const ErrorSummary> rows);
/// The `most` cells with the largest errors, worst first.
[[nodiscard]] std::vector<const Compared*> worst_cells(std::span<const Compared> cells,
                                                       std::size_t most);
[[nodiscard]] std::string worst_cells_text(std::span<const Compared* const> cells);

}  // namespace cclgym
