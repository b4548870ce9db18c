// Conformal intervals of errors: empirical quantiles with the correction for a finite sample. If
// the next error is exchangeable with those of the sample, it lies in the interval with at least
// the asked probability, whatever the distribution (Vovk, Gammerman, Shafer 2005;
// docs/intervals.md).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cost_models/intervals/time_intervals.hpp"

namespace cclgym {

/// Errors of one measured cell, ln(measured / simulated), one per row; at least one. All cells
/// weigh the same: the rows of a cell share its weight.
using CellErrors = std::vector<double>;

/// Interval around zero from exchangeable cells: the smallest bound that at most a share of
/// (1 - coverage) of n + 1 cells exceeds, on either side. nullopt if there are too few cells for
/// that (fewest_cells).
[[nodiscard]] std::optional<LogInterval> conformal_interval(std::span<const CellErrors> cells,
                                                            double coverage);
/// The fewest cells that give conformal_interval an interval: 9 for a coverage of 0.9.
[[nodiscard]] int fewest_cells(double coverage);

/// Interval that at most a share of (1 - coverage) / 2 of n + 1 cells exceeds on each side. It is
/// narrower if errors have a bias, but right only if the next error has the same bias. nullopt if
/// there are too few cells: fewer than 19 for a coverage of 0.9.
[[nodiscard]] std::optional<LogInterval> equal_tails_interval(std::span<const CellErrors> cells,
                                                              double coverage);

/// Interval around zero from exchangeable groups of cells, which all weigh the same, such as
/// numbers of ranks of several systems: cells of a group may depend on each other. nullopt if there
/// are too few groups: fewer than 9 for a coverage of 0.9.
[[nodiscard]] std::optional<LogInterval> grouped_interval(
    std::span<const std::vector<CellErrors>> groups, double coverage);

}  // namespace cclgym
