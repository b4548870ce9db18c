// Changes to timed schedules that keep them valid.
#pragma once

#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// The schedule without sends that contribute to no delivery: later arrivals at ranks that have the
/// chunk, and chunks that a rank neither needs nor passes on.
[[nodiscard]] TimedSchedule without_idle_sends(const TimedInstance& timed, const Demand& demand,
                                               const TimedSchedule& schedule);

/// Starts sends in the given order, each as early as its source and its limits allow, and leaves
/// out those that contribute to no delivery. `ticks` of the result is the tick of the last
/// delivery. The order may come from a schedule on another grid. Throws UserError if the instance
/// has switches that hold nothing, and std::logic_error if a rank sends a chunk that it never gets
/// or a delivery is missing.
[[nodiscard]] TimedSchedule earliest_schedule(const TimedInstance& timed, const Demand& demand,
                                              const std::vector<TimedSend>& order);

/// Tick of the last delivery of a valid schedule.
[[nodiscard]] int finish_tick(const TimedInstance& timed, const Demand& demand,
                              const TimedSchedule& schedule);

/// Tick of the last delivery of each chunk, 0 for a chunk without targets.
[[nodiscard]] std::vector<int> finish_ticks(const TimedInstance& timed, const Demand& demand,
                                            const TimedSchedule& schedule);

}  // namespace cclgym::synthesis
