#include "synthesis/teccl/greedy_schedule.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "core/index.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

class GreedyDeliveries {
 public:
  GreedyDeliveries(const TimedInstance& timed, const Demand& demand)
      : timed_(timed),
        demand_(demand),
        hops_out_(timed.instance.hops_out()),
        starts_(timed.instance.limits.size()),
        held_from_(demand.chunks.size(), std::vector<int>(at(demand.ranks), kNeverTick)) {
    for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
      held_from_[chunk][at(demand.chunks[chunk].source)] = 0;
    }
  }

  // False if the target cannot be reached.
  bool deliver(int chunk, int target) {
    std::vector<int>& held = held_from_[at(chunk)];
    if (held[at(target)] != kNeverTick) return true;
    std::vector<int> arrival = held;
    std::vector<TimedSend> last(held.size(), TimedSend{.hop = -1});
    using Entry = std::pair<int, int>;  // tick, rank
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      if (held[rank] != kNeverTick) queue.emplace(held[rank], static_cast<int>(rank));
    }
    while (!queue.empty()) {
      const auto [tick, rank] = queue.top();
      queue.pop();
      if (tick > arrival[at(rank)]) continue;
      if (rank == target) break;
      for (const int hop : hops_out_[at(rank)]) {
        const int start = first_free(hop, tick);
        const int end = start + timed_.duration[at(hop)];
        const int next = timed_.instance.hops[at(hop)].target;
        if (end >= arrival[at(next)]) continue;
        arrival[at(next)] = end;
        last[at(next)] = {start, chunk, hop};
        queue.emplace(end, next);
      }
    }
    if (arrival[at(target)] == kNeverTick) return false;
    for (int rank = target; last[at(rank)].hop >= 0;) {
      const TimedSend& send = last[at(rank)];
      const Hop& hop = timed_.instance.hops[at(send.hop)];
      held[at(rank)] = arrival[at(rank)];
      for (const int limit : hop.limits) starts_[at(limit)].insert(send.start);
      schedule_.sends.push_back(send);
      rank = hop.source;
    }
    return true;
  }

  TimedSchedule schedule() {
    std::ranges::sort(schedule_.sends);
    schedule_.ticks = finish_tick(timed_, demand_, schedule_);
    return without_idle_sends(timed_, demand_, schedule_);
  }

 private:
  const TimedInstance& timed_;
  const Demand& demand_;
  std::vector<std::vector<int>> hops_out_;
  std::vector<std::set<int>> starts_;  // starts of sends, by limit
  std::vector<std::vector<int>> held_from_;
  TimedSchedule schedule_{};

  // First tick from `tick` on at which all limits of a hop are free for long enough.
  int first_free(int hop, int tick) const {
    const std::vector<int>& limits = timed_.instance.hops[at(hop)].limits;
    for (bool moved = true; moved;) {
      moved = false;
      for (const int limit : limits) {
        const std::set<int>& starts = starts_[at(limit)];
        const int occupancy = timed_.occupancy[at(limit)];
        // The first send that ends after `tick` is in the way if it starts before ours ends.
        auto other = starts.lower_bound(tick - occupancy + 1);
        while (other != starts.end() && *other < tick + occupancy) {
          tick = *other + occupancy;
          moved = true;
          ++other;
        }
      }
    }
    return tick;
  }
};

}  // namespace

std::optional<TimedSchedule> greedy_schedule(const TimedInstance& timed, const Demand& demand) {
  if (std::ranges::any_of(timed.switches, [](char is) { return is != 0; })) return std::nullopt;
  const std::vector<std::vector<int>> distance = tick_distances(timed);
  std::vector<std::tuple<int, int, int>> deliveries;  // distance, chunk, target
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    for (const int target : demand.chunks[chunk].targets) {
      deliveries.emplace_back(distance[at(demand.chunks[chunk].source)][at(target)],
                              static_cast<int>(chunk), target);
    }
  }
  std::ranges::sort(deliveries);
  GreedyDeliveries state(timed, demand);
  for (const auto& [ticks, chunk, target] : deliveries) {
    if (!state.deliver(chunk, target)) return std::nullopt;
  }
  return state.schedule();
}

}  // namespace cclgym::synthesis
