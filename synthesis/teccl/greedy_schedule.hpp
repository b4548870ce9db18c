// A valid timed schedule at once, without a search: the upper bound that a search improves.
#pragma once

#include <optional>

#include "synthesis/demand.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// Makes deliveries one after the other, near targets first, each on the path that arrives first
/// given all sends so far, from any rank that holds or will hold the chunk. Nothing if a target
/// cannot be reached or if ranks are switches that hold nothing. Takes the order of
/// deliveries x hops x sends per limit steps.
[[nodiscard]] std::optional<TimedSchedule> greedy_schedule(const TimedInstance& timed,
                                                           const Demand& demand);

}  // namespace cclgym::synthesis
