// Minimum ticks of a timed schedule by exhaustive search, for tests on small fabrics.
#pragma once

#include "synthesis/demand.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::test {

/// Minimum ticks by breadth-first search over all states (chunks held and in flight, limits in
/// use); -1 if there is no schedule of `max_ticks`. It shares no code with the solvers. The only
/// rule that leaves out schedules: no chunk is sent to a rank that has it or to which it is on its
/// way.
[[nodiscard]] int exhaustive_ticks(const synthesis::TimedInstance& timed,
                                   const synthesis::Demand& demand, int max_ticks);

}  // namespace cclgym::test
