#include "synthesis/teccl/tick_bounds.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <set>

#include "core/index.hpp"

namespace cclgym::synthesis {

std::vector<std::vector<int>> tick_distances(const TimedInstance& timed) {
  const std::size_t ranks = at(timed.instance.ranks);
  std::vector<std::vector<int>> distance(ranks, std::vector<int>(ranks, kNeverTick));
  for (std::size_t rank = 0; rank < ranks; ++rank) distance[rank][rank] = 0;
  for (std::size_t k = 0; k < timed.instance.hops.size(); ++k) {
    const Hop& hop = timed.instance.hops[k];
    int& direct = distance[at(hop.source)][at(hop.target)];
    direct = std::min(direct, timed.duration[k]);
  }
  for (std::size_t middle = 0; middle < ranks; ++middle) {
    for (std::size_t source = 0; source < ranks; ++source) {
      if (distance[source][middle] == kNeverTick) continue;
      for (std::size_t target = 0; target < ranks; ++target) {
        distance[source][target] =
            std::min(distance[source][target], distance[source][middle] + distance[middle][target]);
      }
    }
  }
  return distance;
}

namespace {

using RankSet = std::vector<char>;

// Parts of the fabric that stay strongly connected if only limits faster than `slow` are left.
std::vector<RankSet> parts_without(const TimedInstance& timed, int slow) {
  const std::size_t ranks = at(timed.instance.ranks);
  std::vector<RankSet> reached(ranks, RankSet(ranks, 0));
  const std::vector<std::vector<int>> out = timed.instance.hops_out();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::size_t> queue{rank};
    reached[rank][rank] = 1;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int id : out[queue[head]]) {
        const Hop& hop = timed.instance.hops[at(id)];
        const bool fast = std::ranges::all_of(
            hop.limits, [&](int limit) { return timed.occupancy[at(limit)] < slow; });
        if (!fast || reached[rank][at(hop.target)] != 0) continue;
        reached[rank][at(hop.target)] = 1;
        queue.push_back(at(hop.target));
      }
    }
  }
  std::vector<RankSet> parts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RankSet part(ranks, 0);
    for (std::size_t other = 0; other < ranks; ++other) {
      part[other] = static_cast<char>(reached[rank][other] != 0 && reached[other][rank] != 0);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::set<RankSet> candidate_cuts(const TimedInstance& timed) {
  const std::size_t ranks = at(timed.instance.ranks);
  constexpr std::size_t kMaxRanks = 10;
  std::set<RankSet> cuts;
  if (ranks <= kMaxRanks) {
    for (std::size_t bits = 1; bits + 1 < std::size_t{1} << ranks; ++bits) {
      RankSet cut(ranks, 0);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        cut[rank] = static_cast<char>(bits >> rank & 1U);
      }
      cuts.insert(std::move(cut));
    }
    return cuts;
  }
  const auto add = [&](const RankSet& part) {
    RankSet rest(ranks, 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) rest[rank] = static_cast<char>(!part[rank]);
    cuts.insert(part);
    cuts.insert(std::move(rest));
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RankSet one(ranks, 0);
    one[rank] = 1;
    add(one);
  }
  for (const int slow : std::set<int>(timed.occupancy.begin(), timed.occupancy.end())) {
    for (const RankSet& part : parts_without(timed, slow)) add(part);
  }
  return cuts;
}

// A chunk that must enter a set of ranks, and the target in it that is farthest from the entrances.
struct Crossing {
  int source;
  int target;
};

class CutBound {
 public:
  CutBound(const TimedInstance& timed, const std::vector<std::vector<int>>& distance)
      : timed_(timed), distance_(distance) {}

  TickBound ticks(const Demand& demand, const RankSet& inside) const {
    std::vector<int> entrances;
    for (std::size_t k = 0; k < timed_.instance.hops.size(); ++k) {
      const Hop& hop = timed_.instance.hops[k];
      if (!inside[at(hop.source)] && inside[at(hop.target)]) {
        entrances.push_back(static_cast<int>(k));
      }
    }
    const std::vector<Crossing> crossings = crossings_of(demand, inside, entrances);
    if (crossings.empty()) return {};
    if (entrances.empty()) return {kNeverTick, "some ranks cannot be reached"};
    const auto unlimited = [&](int hop) { return timed_.instance.hops[at(hop)].limits.empty(); };
    if (std::ranges::any_of(entrances, unlimited)) return {};
    return {enough_ticks(crossings, entrances),
            fmt::format("{} chunks enter {} of {} ranks", crossings.size(),
                        std::ranges::count(inside, 1), timed_.instance.ranks)};
  }

 private:
  const TimedInstance& timed_;
  const std::vector<std::vector<int>>& distance_;

  std::vector<Crossing> crossings_of(const Demand& demand, const RankSet& inside,
                                     const std::vector<int>& entrances) const {
    std::vector<Crossing> crossings;
    for (const ChunkDemand& chunk : demand.chunks) {
      if (inside[at(chunk.source)]) continue;
      int farthest = -1;
      int farthest_ticks = -1;
      for (const int target : chunk.targets) {
        if (!inside[at(target)]) continue;
        int nearest = kNeverTick;
        for (const int hop : entrances) {
          nearest =
              std::min(nearest, distance_[at(timed_.instance.hops[at(hop)].target)][at(target)]);
        }
        if (nearest <= farthest_ticks) continue;
        farthest = target;
        farthest_ticks = nearest;
      }
      if (farthest >= 0) crossings.push_back({chunk.source, farthest});
    }
    return crossings;
  }

  // First tick at which all crossings can have arrived. An entrance counts for one of its limits.
  int enough_ticks(const std::vector<Crossing>& crossings,
                   const std::vector<int>& entrances) const {
    std::vector<int> entrances_of(timed_.instance.limits.size(), 0);
    for (const int hop : entrances) {
      for (const int limit : timed_.instance.hops[at(hop)].limits) ++entrances_of[at(limit)];
    }
    // By limit: first start of a crossing, and ticks from the last start to the end. Different hops
    // over a limit can have the two minima.
    std::vector<int> first_start(timed_.instance.limits.size(), kNeverTick);
    std::vector<int> ticks_after(timed_.instance.limits.size(), kNeverTick);
    for (const int id : entrances) {
      const Hop& hop = timed_.instance.hops[at(id)];
      int head = kNeverTick;
      int tail = kNeverTick;
      for (const Crossing& crossing : crossings) {
        head = std::min(head, distance_[at(crossing.source)][at(hop.source)]);
        tail = std::min(tail, distance_[at(hop.target)][at(crossing.target)]);
      }
      const int tightest = *std::ranges::max_element(hop.limits, {}, [&](int limit) {
        return entrances_of[at(limit)] * timed_.occupancy[at(limit)];
      });
      first_start[at(tightest)] = std::min(first_start[at(tightest)], head);
      ticks_after[at(tightest)] =
          std::min(ticks_after[at(tightest)], timed_.duration[at(id)] + tail);
    }
    const auto carried = [&](int ticks) {
      std::int64_t chunks = 0;
      for (std::size_t limit = 0; limit < first_start.size(); ++limit) {
        const int spare = ticks - first_start[limit] - ticks_after[limit];
        if (spare >= 0) chunks += spare / timed_.occupancy[limit] + 1;
      }
      return chunks;
    };
    const auto needed = static_cast<std::int64_t>(crossings.size());
    int low = 0;
    int high = kNeverTick;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (carried(middle) >= needed) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

// Minimum number of uses of a limit on a path, from a rank to all ranks.
std::vector<int> least_uses(const TimedInstance& timed, const std::vector<std::vector<int>>& out,
                            int source, int limit) {
  std::vector<int> uses(at(timed.instance.ranks), kNeverTick);
  std::deque<int> queue{source};
  uses[at(source)] = 0;
  while (!queue.empty()) {
    const int rank = queue.front();
    queue.pop_front();
    for (const int id : out[at(rank)]) {
      const Hop& hop = timed.instance.hops[at(id)];
      const bool used = std::ranges::find(hop.limits, limit) != hop.limits.end();
      const int after = uses[at(rank)] + (used ? 1 : 0);
      if (after >= uses[at(hop.target)]) continue;
      uses[at(hop.target)] = after;
      if (used) {
        queue.push_back(hop.target);
      } else {
        queue.push_front(hop.target);
      }
    }
  }
  return uses;
}

TickBound limit_bound(const TimedInstance& timed, const Demand& demand,
                      const std::vector<std::vector<int>>& distance,
                      const std::vector<std::vector<int>>& out, int limit) {
  std::vector<std::vector<int>> uses(at(timed.instance.ranks));
  int total = 0;
  int head = kNeverTick;
  int tail = kNeverTick;
  for (const ChunkDemand& chunk : demand.chunks) {
    std::vector<int>& row = uses[at(chunk.source)];
    if (row.empty()) row = least_uses(timed, out, chunk.source, limit);
    if (chunk.targets.empty()) continue;
    const int target =
        *std::ranges::max_element(chunk.targets, {}, [&](int rank) { return row[at(rank)]; });
    const int here = row[at(target)];
    if (here == 0 || here >= kNeverTick) continue;
    total += here;
    for (const int id : timed.instance.limits[at(limit)].hops) {
      const Hop& hop = timed.instance.hops[at(id)];
      head = std::min(head, distance[at(chunk.source)][at(hop.source)]);
      tail = std::min(tail, timed.duration[at(id)] + distance[at(hop.target)][at(target)]);
    }
  }
  if (total == 0) return {};
  return {head + (total - 1) * timed.occupancy[at(limit)] + tail,
          fmt::format("{} chunks cross {}", total, timed.instance.limits[at(limit)].name)};
}

}  // namespace

TickBound lower_bound_ticks(const TimedInstance& timed, const Demand& demand) {
  const std::vector<std::vector<int>> distance = tick_distances(timed);
  TickBound best{.ticks = 0, .reason = "nothing has to be sent"};
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      const int ticks = distance[at(chunk.source)][at(target)];
      if (ticks <= best.ticks) continue;
      best = {ticks, fmt::format("distance from rank {} to rank {}", chunk.source, target)};
    }
  }
  const CutBound bound(timed, distance);
  for (const RankSet& cut : candidate_cuts(timed)) {
    TickBound here = bound.ticks(demand, cut);
    if (here.ticks > best.ticks) best = std::move(here);
  }
  const std::vector<std::vector<int>> out = timed.instance.hops_out();
  for (std::size_t limit = 0; limit < timed.instance.limits.size(); ++limit) {
    TickBound here = limit_bound(timed, demand, distance, out, static_cast<int>(limit));
    if (here.ticks > best.ticks) best = std::move(here);
  }
  return best;
}

}  // namespace cclgym::synthesis
