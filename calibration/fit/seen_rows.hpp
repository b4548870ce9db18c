// Which measured cells a fit of a parameter set saw.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

enum class Seen : std::uint8_t {
  Fitted,   ///< a fit of the set saw rows of the cell
  HeldOut,  ///< no fit of the set did
  NotSaid,  ///< the set does not say what it was fitted to
};
/// "fitted", "held out", "not said".
[[nodiscard]] std::string_view to_string(Seen seen);

/// Says whether a fit of this set saw the cell. A cell counts as fitted if any of its rows may be
/// among those of the set's `fitted_to`. Throws UserError at the set's list if it names a
/// collective that there is not.
[[nodiscard]] Seen seen_by(const ParameterSet& set, const MeasuredCell& cell);

/// The rows of these cells as `fitted_to` says them, with those of `before` that are not among
/// them already: at least these rows.
[[nodiscard]] std::vector<FittedRows> fitted_rows_of(std::span<const MeasuredCell* const> cells,
                                                     const std::vector<FittedRows>& before);

}  // namespace cclgym
