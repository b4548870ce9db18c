// TE-CCL's A* technique: a schedule in rounds of a few epochs each (section 4.2).
#pragma once

#include <optional>

#include "synthesis/teccl/epoch_program.hpp"

namespace cclgym::synthesis {

struct RoundsOptions {
  int epochs_per_round = 4;
  int max_rounds = 1000;
  Deadline deadline{};
  double relative_gap = 0.3;      ///< per round: EpochOptions::relative_gap
  std::vector<double> weights{};  ///< by chunk; empty: 1 each
};

struct RoundsResult {
  /// Sends by epoch, all demands met; nothing if a round found no solution or the rounds do not
  /// suffice.
  std::optional<TimedSchedule> schedule{};
  int rounds = 0;  ///< that were solved
};

/// Solves one round after the other by solve_round. A round starts from the ranks that hold chunks
/// at the end of the one before, with the chunks still on their way and the limits still occupied,
/// and with the demands that are left. Throws UserError for settings out of range, targets that
/// cannot be reached, or switches that hold nothing (use SwitchModel::HyperEdge).
[[nodiscard]] RoundsResult solve_in_rounds(const EpochGrid& grid, const Demand& demand,
                                           const RoundsOptions& options = {});

}  // namespace cclgym::synthesis
