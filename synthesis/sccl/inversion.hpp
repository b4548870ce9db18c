// Reductions from schedules of copies (SCCL, section 3.5).
#pragma once

#include "synthesis/instance.hpp"
#include "synthesis/step_schedule.hpp"

namespace cclgym::synthesis {

/// The schedule with time and direction reversed. A schedule of an AllGather or Broadcast on
/// instance.reversed() becomes one of a ReduceScatter or Reduce on the instance: a send (step,
/// chunk, hop) then carries the sum of what the hop's source holds of the chunk, and its target
/// adds it. Chunks start everywhere and end, reduced, at their ChunkDemand's source. Hops keep
/// their indices. Every rank must receive a chunk at most once, which holds for schedules of
/// solve_steps.
[[nodiscard]] StepSchedule reversed(const StepSchedule& schedule);

/// Replays a schedule of reductions: every rank of a chunk's targets contributes its part exactly
/// once, no rank sends a chunk after it gave its sum away, no limit carries more than units x
/// rounds chunks in a step, and each chunk's source has the full sum at the end. `demand` is that
/// of the inverse collective. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_reduction(const Instance& instance, const Demand& demand,
                                          const StepSchedule& schedule);

}  // namespace cclgym::synthesis
