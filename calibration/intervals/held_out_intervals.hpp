// Intervals from the errors of held-out cells, and a test of them on cells that they were not made
// from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/fit/error_table.hpp"
#include "cost_models/intervals/time_intervals.hpp"

namespace cclgym {

/// The kind of the cell's call.
[[nodiscard]] CallKind kind_of(const MeasuredCell& cell);

/// A table with one interval for each parameter set, fabric, reach (one node or several) and kind
/// of calls that has enough held-out cells. `cells` other than held-out ones are ignored.
[[nodiscard]] TimeIntervals intervals_from(std::span<const Compared> cells, double coverage,
                                           const std::string& source);

/// True if the rows of the cell may be among those that the interval of its class was made from.
[[nodiscard]] bool made_from(const TimeIntervals& table, const Compared& compared);

/// States the interval of each held-out cell that has none yet, from the other held-out cells of
/// its class. No cell with the same number of ranks takes part.
void state_intervals(std::span<Compared> cells, double coverage);

/// Intervals on held-out cells of one class: how often they are right, and how wide they are.
struct Coverage {
  int cells = 0;       ///< held-out cells with an interval
  double inside = 0;   ///< mean over these cells of the share of their rows that is inside
  double medians = 0;  ///< share of these cells whose median time is inside
  double width = 0;    ///< mean of ln(upper / lower end)
};

struct CoverageRow {
  std::string group;  ///< "Polaris, a100-slingshot, several nodes, allgather"
  int without = 0;    ///< held-out cells without an interval
  int rows = 0;       ///< measured rows of the cells with an interval
  Coverage stated{};  ///< the intervals of the cells
  Coverage tails{};   ///< equal_tails_interval instead, from other numbers of ranks of the class
  Coverage one{};     ///< null model: one interval for everything, from all cells of another system
                      ///< or number of ranks
  Coverage fitted{};  ///< null model: from the fitted cells of the class
};

/// One row per class, and one for all of them if there are several. Cells without an interval are
/// only counted.
[[nodiscard]] std::vector<CoverageRow> coverage_of(std::span<const Compared> cells,
                                                   double coverage);
/// Two tables with aligned columns: the intervals of the cells, and the others. "89.4 % x3.14" is
/// the share of rows inside, and the factor between the ends of the interval.
[[nodiscard]] std::string coverage_text(std::span<const CoverageRow> rows);

/// Share of the cell's rows whose time is in its interval, which it must have.
[[nodiscard]] double share_inside(const Compared& compared);

}  // namespace cclgym
