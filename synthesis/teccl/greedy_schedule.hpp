// Valid timed schedules at once, without a search: the upper bounds that a search improves.
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

/// Goes from tick to tick and starts, on the hops that are free, the sends that bring a chunk
/// nearer to the greatest number of targets; ties go to the target that follows the sender most
/// closely in the order of ranks, so that senders with equal choices take different targets. A
/// chunk is not sent where it can be sooner by another way. Nothing if a target cannot be reached
/// or if ranks are switches that hold nothing. Unlike greedy_schedule(), it fills all slow links of
/// a symmetric fabric at once.
[[nodiscard]] std::optional<TimedSchedule> forward_schedule(const TimedInstance& timed,
                                                            const Demand& demand);

}  // namespace cclgym::synthesis
