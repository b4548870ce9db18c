// Synchronous schedules of all collectives, reductions included (SCCL, section 3.5).
#pragma once

#include "synthesis/demand.hpp"
#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::synthesis {

/// A schedule of a collective: reductions first, then copies. ReduceScatter and Reduce have only
/// the first, AllReduce has both (a ReduceScatter and an AllGather of the same chunks), and the
/// other collectives have only the second.
struct CollectiveSteps {
  SatResult status = SatResult::Unknown;
  Demand demand{};            ///< demand of the copies, or of the inverse collective
  StepSchedule reductions{};  ///< checked by check_reduction; no steps if there are none
  StepSchedule copies{};      ///< checked by check_schedule; no steps if there are none

  [[nodiscard]] int steps() const { return reductions.steps() + copies.steps(); }
  [[nodiscard]] int total_rounds() const {
    return reductions.total_rounds() + copies.total_rounds();
  }
};

/// Finds a schedule of reductions that meets the demand of the inverse collective in reverse: by
/// solve_steps on the reversed instance, inverted. Every schedule has been checked by
/// check_reduction. Throws UserError like solve_steps.
[[nodiscard]] StepAnswer solve_reduction_steps(const Instance& instance, const Demand& demand,
                                               int steps, int rounds,
                                               const StepSearchOptions& options = {});

/// Finds a schedule of a collective, whose chunks are counted as in make_demand, AllReduce's and
/// ReduceScatter's like AllGather's: SCCL's C is this times sccl_chunk_factor. Both halves
/// of an AllReduce have steps / 2 steps and rounds / 2 rounds.
/// Unsatisfiable for an AllReduce says that there is no schedule of this form. Throws UserError
/// like solve_steps, for AllToNext and Custom, and for odd steps or rounds of an AllReduce.
[[nodiscard]] CollectiveSteps solve_collective_steps(const Instance& instance,
                                                     CollectiveKind collective, int chunks,
                                                     int steps, int rounds, int root = 0,
                                                     const StepSearchOptions& options = {});

}  // namespace cclgym::synthesis
