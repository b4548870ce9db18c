#include "synthesis/teccl/epoch_bound.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

void check_bound_options(const EpochBoundOptions& options) {
  const std::vector<int>& counts = options.epoch_counts;
  const bool ascends = std::ranges::adjacent_find(counts, std::greater_equal<>()) == counts.end();
  if (counts.empty() || counts.front() < 1 || !ascends) {
    throw UserError("the epoch counts must be positive and ascend");
  }
  if (!(options.growth > 1)) {
    throw UserError(
        fmt::format("candidates that grow by {}; expected more than 1", options.growth));
  }
}

// Greatest distance of a delivery, s.
double distance_s(const Instance& instance, double chunk_bytes, const Demand& demand) {
  TimedInstance timed{.instance = instance};
  // A fine grid, on which rounding does not matter to a candidate.
  constexpr int kTicksPerChunk = 1000;
  const double tick_s =
      epoch_length_s(instance, chunk_bytes, EpochChoice::FastestLink) / kTicksPerChunk;
  const std::vector<std::vector<int>> distance =
      tick_distances(make_epoch_grid(instance, chunk_bytes, tick_s, 0).timed);
  int farthest = 0;
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      farthest = std::max(farthest, distance[at(chunk.source)][at(target)]);
    }
  }
  if (farthest >= kNeverTick) throw UserError("the demand cannot be met: a rank has no path");
  return farthest * tick_s;
}

}  // namespace

std::optional<EpochBound> find_epoch_bound(const Instance& instance, double chunk_bytes,
                                           const Demand& demand, double epoch_s,
                                           const EpochBoundOptions& options) {
  check_bound_options(options);
  const EpochGrid requested = make_epoch_grid(instance, chunk_bytes, epoch_s, 0);
  const EpochOptions feasibility{.deadline = options.deadline, .feasibility = true};
  EpochBound bound{.completion_s = distance_s(instance, chunk_bytes, demand)};
  for (int candidate = 0; candidate < options.max_candidates;
       ++candidate, bound.completion_s *= options.growth) {
    std::optional<TimedSchedule> coarse;
    // Counts before `low` have no schedule; the one at `high`, if any, has.
    std::size_t low = 0;
    std::size_t high = options.epoch_counts.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const int count = options.epoch_counts[middle];
      const EpochGrid grid = make_epoch_grid(instance, chunk_bytes, bound.completion_s / count, 0);
      EpochResult result = solve_epochs(grid, demand, count, feasibility);
      ++bound.programs;
      if (result.status == MipStatus::Optimal || result.status == MipStatus::Feasible) {
        coarse = std::move(result.schedule);
        bound.epoch_count = count;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (!coarse) continue;
    constexpr double kRounding = 1e-9;
    bound.estimate = static_cast<int>(std::ceil(bound.completion_s / epoch_s * (1 - kRounding)));
    bound.schedule = earliest_schedule(requested.timed, demand, coarse->sends);
    bound.sufficient = bound.schedule.ticks;
    return bound;
  }
  return std::nullopt;
}

}  // namespace cclgym::synthesis
