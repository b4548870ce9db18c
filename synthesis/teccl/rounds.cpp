#include "synthesis/teccl/rounds.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

void check_rounds(const EpochGrid& grid, const Demand& demand, const RoundsOptions& options) {
  if (options.epochs_per_round < 1) {
    throw UserError(
        fmt::format("{} epochs per round; expected at least 1", options.epochs_per_round));
  }
  if (std::ranges::any_of(grid.timed.switches, [](char is) { return is != 0; })) {
    throw UserError("rounds cannot carry chunks in switches that hold nothing");
  }
  const std::vector<std::vector<int>> distance = tick_distances(grid.timed);
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      if (distance[at(chunk.source)][at(target)] < kNeverTick) continue;
      throw UserError(fmt::format("rank {} cannot reach rank {}", chunk.source, target));
    }
  }
}

// State after a round of `epochs` epochs with the given sends.
EpochState next_state(const EpochGrid& grid, const EpochState& before,
                      const std::vector<TimedSend>& sends, int epochs) {
  EpochState after = before;
  after.late.clear();
  const auto arrive = [&](const LateArrival& arrival) {
    if (arrival.epoch <= epochs) {
      after.held[at(arrival.chunk)][at(arrival.rank)] = 1;
    } else {
      after.late.push_back({arrival.chunk, arrival.rank, arrival.epoch - epochs});
    }
  };
  for (const LateArrival& late : before.late) arrive(late);
  for (int& busy : after.busy) busy = std::max(0, busy - epochs);
  for (const TimedSend& send : sends) {
    const Hop& hop = grid.timed.instance.hops[at(send.hop)];
    arrive({send.chunk, hop.target, send.start + grid.timed.duration[at(send.hop)]});
    for (const int limit : hop.limits) {
      int& busy = after.busy[at(limit)];
      busy = std::max(busy, send.start + grid.timed.occupancy[at(limit)] - epochs);
    }
  }
  return after;
}

// Drops the deliveries that were made.
Demand left_over(const Demand& demand, const EpochState& state) {
  Demand left = demand;
  for (std::size_t chunk = 0; chunk < left.chunks.size(); ++chunk) {
    std::erase_if(left.chunks[chunk].targets,
                  [&](int target) { return state.held[chunk][at(target)] != 0; });
  }
  return left;
}

}  // namespace

RoundsResult solve_in_rounds(const EpochGrid& grid, const Demand& demand,
                             const RoundsOptions& options) {
  check_rounds(grid, demand, options);
  const EpochOptions program{.deadline = options.deadline,
                             .relative_gap = options.relative_gap,
                             .weights = options.weights};
  const int epochs = options.epochs_per_round;
  RoundsResult result;
  TimedSchedule schedule;
  EpochState state = EpochState::initial(grid, demand);
  Demand left = left_over(demand, state);
  while (left.deliveries() > 0) {
    if (result.rounds == options.max_rounds) return result;
    const EpochResult round = solve_round(grid, left, state, epochs, program);
    if (round.status != MipStatus::Optimal && round.status != MipStatus::Feasible) return result;
    if (round.schedule.sends.empty() && state.late.empty() &&
        std::ranges::all_of(state.busy, [](int busy) { return busy == 0; })) {
      return result;  // the deadline came before a solution with a send was found
    }
    for (TimedSend send : round.schedule.sends) {
      send.start += result.rounds * epochs;
      schedule.sends.push_back(send);
    }
    ++result.rounds;
    state = next_state(grid, state, round.schedule.sends, epochs);
    left = left_over(left, state);
  }
  schedule.ticks = finish_tick(grid.timed, demand, schedule);
  result.schedule = without_idle_sends(grid.timed, demand, schedule);
  return result;
}

}  // namespace cclgym::synthesis
