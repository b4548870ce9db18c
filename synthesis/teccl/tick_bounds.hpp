// Lower bounds on the ticks of a timed schedule, from distances and from cuts.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// Ticks that stand for "never"; the sum of a few does not overflow.
inline constexpr int kNeverTick = std::numeric_limits<int>::max() / 8;

/// Minimum ticks from a rank to a rank, row by source, if nothing else uses the hops; kNeverTick if
/// there is no path.
[[nodiscard]] std::vector<std::vector<int>> tick_distances(const TimedInstance& timed);

/// A proven lower bound, and the reason for it.
struct TickBound {
  int ticks = 0;  ///< >= kNeverTick if the demand cannot be met at all
  std::string reason{};
};

/// The best of:
/// - the greatest distance of a delivery;
/// - for a number of cuts, the ticks in which the hops into a set of ranks can carry all chunks
/// that
///   must enter it, with the distance before the first and after the last. The cuts are all sets of
///   up to 10 ranks; or single ranks, all but one rank, and the parts of the fabric that stay
///   connected without its slow limits;
/// - for each limit, the ticks that all chunks occupy it if they use it as rarely as possible.
[[nodiscard]] TickBound lower_bound_ticks(const TimedInstance& timed, const Demand& demand);

}  // namespace cclgym::synthesis
