// The shortest timed schedule, with a proven lower bound.
#pragma once

#include <optional>
#include <string>

#include "synthesis/demand.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

struct MinimumTicksOptions {
  Deadline deadline{};
  int seed = 0;
  /// Schedules invariant under these automorphisms are tried first; the bound does not depend on
  /// them. Empty: none.
  InstanceGroup group{};
  /// False: stops after the deadline or when the search for schedules ends, without refuting
  /// shorter schedules by search.
  bool prove = true;
};

struct MinimumTicks {
  std::optional<TimedSchedule> schedule{};  ///< the shortest that was found
  int lower_bound = 0;                      ///< ticks; no schedule is shorter
  std::string reason{};                     ///< why no schedule is shorter than lower_bound

  [[nodiscard]] bool optimal() const { return schedule && schedule->ticks == lower_bound; }
};

/// Searches between lower_bound_ticks and a greedy schedule by solve_ticks. The numbers of
/// conflicts per call grow in rounds, so that the result depends on the clock only if the
/// deadline comes. Throws UserError if the demand cannot be met at all.
[[nodiscard]] MinimumTicks minimum_ticks(const TimedInstance& timed, const Demand& demand,
                                         const MinimumTicksOptions& options = {});

}  // namespace cclgym::synthesis
