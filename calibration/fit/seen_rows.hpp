// Distinguishes the measured cells that a fit of a parameter set saw from held-out ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

enum class Seen : std::uint8_t {
  Fitted,   ///< a fit of the set used rows of the cell
  HeldOut,  ///< no fit of the set used rows of the cell
  NotSaid,  ///< the set does not state its fitted rows
};
/// The state in words: "fitted", "held out", "not said".
[[nodiscard]] std::string_view to_string(Seen seen);

/// Tells if a fit of this set saw the cell. A cell is fitted if any of its rows may be in the set's
/// `fitted_to`. Throws UserError at the set's list if it names an unknown collective.
[[nodiscard]] Seen seen_by(const ParameterSet& set, const MeasuredCell& cell);

/// The rows of these cells in the form of `fitted_to`, together with the items of `before` that are
/// not among them. The items may cover more rows than the cells have, but never fewer.
[[nodiscard]] std::vector<FittedRows> fitted_rows_of(std::span<const MeasuredCell* const> cells,
                                                     const std::vector<FittedRows>& before);

}  // namespace cclgym
