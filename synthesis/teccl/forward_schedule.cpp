#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "core/index.hpp"
#include "synthesis/teccl/greedy_schedule.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

class ForwardSends {
 public:
  ForwardSends(const TimedInstance& timed, const Demand& demand)
      : timed_(timed),
        demand_(demand),
        distance_(tick_distances(timed)),
        free_from_(timed.instance.limits.size(), 0),
        held_from_(demand.chunks.size(), std::vector<int>(at(demand.ranks), kNeverTick)),
        nearest_(demand.chunks.size(), std::vector<int>(at(demand.ranks), kNeverTick)),
        missing_(demand.chunks.size(), std::vector<char>(at(demand.ranks), 0)),
        holders_(demand.chunks.size()) {
    for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
      for (const int target : demand.chunks[chunk].targets) missing_[chunk][at(target)] = 1;
      left_ += static_cast<int>(demand.chunks[chunk].targets.size());
      hold(static_cast<int>(chunk), demand.chunks[chunk].source, 0);
    }
  }

  std::optional<TimedSchedule> run() {
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      for (const int target : demand_.chunks[chunk].targets) {
        if (distance_[at(demand_.chunks[chunk].source)][at(target)] >= kNeverTick) return {};
      }
    }
    while (left_ > 0 && !events_.empty()) {
      const int tick = *events_.begin();
      events_.erase(events_.begin());
      start_sends(tick);
    }
    if (left_ > 0) return std::nullopt;
    std::ranges::sort(schedule_.sends);
    schedule_.ticks = finish_tick(timed_, demand_, schedule_);
    return without_idle_sends(timed_, demand_, schedule_);
  }

 private:
  // Less is better.
  struct Candidate {
    int nearer;  // targets that the send brings nearer, negative
    int shift;   // from the sender to its target
    int origin;  // from the sender back to the chunk's source
    int hop;
    int chunk;
    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };

  void hold(int chunk, int rank, int tick) {
    held_from_[at(chunk)][at(rank)] = tick;
    holders_[at(chunk)].push_back(rank);
    if (missing_[at(chunk)][at(rank)]) --left_;
    missing_[at(chunk)][at(rank)] = 0;
    events_.insert(tick);
    for (std::size_t other = 0; other < at(demand_.ranks); ++other) {
      int& nearest = nearest_[at(chunk)][other];
      nearest = std::min(nearest, distance_[at(rank)][other]);
    }
  }

  [[nodiscard]] bool is_free(const Hop& hop, int tick) const {
    return std::ranges::all_of(hop.limits,
                               [&](int limit) { return free_from_[at(limit)] <= tick; });
  }

  // First tick at which the rank could have the chunk if nothing else used the hops.
  [[nodiscard]] int soonest(int chunk, int rank, int tick) const {
    int soonest = kNeverTick;
    for (const int holder : holders_[at(chunk)]) {
      soonest = std::min(soonest, std::max(held_from_[at(chunk)][at(holder)], tick) +
                                      distance_[at(holder)][at(rank)]);
    }
    return soonest;
  }

  [[nodiscard]] bool is_useful(int chunk, int hop, int tick) const {
    const int target = timed_.instance.hops[at(hop)].target;
    return held_from_[at(chunk)][at(target)] == kNeverTick &&
           soonest(chunk, target, tick) >= tick + timed_.duration[at(hop)];
  }

  [[nodiscard]] int nearer(int chunk, int target) const {
    int count = 0;
    for (std::size_t rank = 0; rank < at(demand_.ranks); ++rank) {
      if (missing_[at(chunk)][rank] && distance_[at(target)][rank] < nearest_[at(chunk)][rank]) {
        ++count;
      }
    }
    return count;
  }

  void start_sends(int tick) {
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const int ranks = demand_.ranks;
    for (std::size_t k = 0; k < timed_.instance.hops.size(); ++k) {
      const Hop& hop = timed_.instance.hops[k];
      if (!is_free(hop, tick)) continue;
      for (std::size_t chunk = 0; chunk < held_from_.size(); ++chunk) {
        if (held_from_[chunk][at(hop.source)] > tick) continue;
        if (!is_useful(static_cast<int>(chunk), static_cast<int>(k), tick)) continue;
        const int count = nearer(static_cast<int>(chunk), hop.target);
        if (count == 0) continue;
        queue.push({-count, (hop.target - hop.source + ranks) % ranks,
                    (hop.source - demand_.chunks[chunk].source + ranks) % ranks,
                    static_cast<int>(k), static_cast<int>(chunk)});
      }
    }
    while (!queue.empty()) {
      Candidate best = queue.top();
      queue.pop();
      const Hop& hop = timed_.instance.hops[at(best.hop)];
      if (!is_free(hop, tick) || !is_useful(best.chunk, best.hop, tick)) continue;
      const int count = nearer(best.chunk, hop.target);
      if (count != -best.nearer) {
        best.nearer = -count;
        if (count > 0) queue.push(best);
        continue;
      }
      schedule_.sends.push_back({tick, best.chunk, best.hop});
      for (const int limit : hop.limits) {
        free_from_[at(limit)] = tick + timed_.occupancy[at(limit)];
        events_.insert(free_from_[at(limit)]);
      }
      hold(best.chunk, hop.target, tick + timed_.duration[at(best.hop)]);
    }
  }

  const TimedInstance& timed_;
  const Demand& demand_;
  std::vector<std::vector<int>> distance_;
  std::vector<int> free_from_;               // by limit
  std::vector<std::vector<int>> held_from_;  // by chunk and rank, sends on their way included
  std::vector<std::vector<int>> nearest_;    // by chunk and rank: ticks from the nearest holder
  std::vector<std::vector<char>> missing_;   // by chunk and rank: targets that are not served
  std::vector<std::vector<int>> holders_;    // by chunk
  std::set<int> events_;                     // ticks at which a chunk arrives or a limit is free
  int left_ = 0;                             // deliveries
  TimedSchedule schedule_{};
};

}  // namespace

std::optional<TimedSchedule> forward_schedule(const TimedInstance& timed, const Demand& demand) {
  if (std::ranges::any_of(timed.switches, [](char is) { return is != 0; })) return std::nullopt;
  return ForwardSends(timed, demand).run();
}

}  // namespace cclgym::synthesis
