// Exhaustive search for step schedules on small instances, and random instances for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "core/index.hpp"
#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::test {

/// Places (chunk x ranks + rank) that are held, as bits.
using Holdings = std::uint64_t;

/// All sets of places that can be held after `steps` steps of at most `rounds` rounds together, one
/// step after the other; a set within another is left out. It shares no code with the formulas.
class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const synthesis::Instance& instance, const synthesis::Demand& demand)
      : instance_(instance), demand_(demand) {}

  /// True if the demand can be met; nothing if the search would take too long.
  [[nodiscard]] std::optional<bool> feasible(int steps, int rounds) {
    left_ = 3'000;
    Holdings start = 0;
    Holdings goal = 0;
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      start |= place(chunk, demand_.chunks[chunk].source);
      for (const int target : demand_.chunks[chunk].targets) goal |= place(chunk, target);
    }
    const bool found = search(start, goal, steps, rounds);
    if (left_ <= 0) return std::nullopt;
    return found;
  }

 private:
  [[nodiscard]] Holdings place(std::size_t chunk, int rank) const {
    return Holdings{1} << (chunk * at(demand_.ranks) + at(rank));
  }

  [[nodiscard]] bool search(Holdings held, Holdings goal, int steps, int rounds) {
    if ((held & goal) == goal) return true;
    if (steps == 0) return false;
    // The last step takes all rounds that are left.
    for (int now = steps == 1 ? rounds : 1; now <= rounds - (steps - 1); ++now) {
      for (const Holdings next : after_step(held, steps == 1 ? goal : ~Holdings{0}, now)) {
        if (search(next, goal, steps - 1, rounds - now)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<Holdings> after_step(Holdings held, Holdings useful, int rounds) {
    std::set<Holdings> reached;
    std::vector<std::int64_t> left;
    for (const synthesis::Limit& limit : instance_.limits) left.push_back(limit.units * rounds);
    deliver(held, held, useful, 0, left, reached);
    std::vector<Holdings> maximal;
    for (const Holdings one : reached) {
      const bool within = std::any_of(reached.begin(), reached.end(), [&](Holdings other) {
        return one != other && (one & other) == one;
      });
      if (!within) maximal.push_back(one);
    }
    return maximal;
  }

  // Decides, place by place, over which hop it is reached, if at all.
  void deliver(Holdings before, Holdings after, Holdings useful, std::size_t next,
               std::vector<std::int64_t>& left, std::set<Holdings>& reached) {
    if (--left_ <= 0) return;
    const std::size_t places = demand_.chunks.size() * at(demand_.ranks);
    while (next < places && ((before | ~useful) >> next & 1U) != 0) ++next;
    if (next == places) {
      reached.insert(after);
      return;
    }
    const std::size_t chunk = next / at(demand_.ranks);
    const int rank = static_cast<int>(next % at(demand_.ranks));
    for (const synthesis::Hop& hop : instance_.hops) {
      if (hop.target != rank || (before & place(chunk, hop.source)) == 0) continue;
      const bool fits = std::all_of(hop.limits.begin(), hop.limits.end(),
                                    [&](int limit) { return left[at(limit)] > 0; });
      if (!fits) continue;
      for (const int limit : hop.limits) --left[at(limit)];
      deliver(before, after | Holdings{1} << next, useful, next + 1, left, reached);
      for (const int limit : hop.limits) ++left[at(limit)];
    }
    deliver(before, after, useful, next + 1, left, reached);
  }

  const synthesis::Instance& instance_;
  const synthesis::Demand& demand_;
  int left_ = 0;  ///< decisions until the search gives up
};

/// Links between 3 or 4 ranks, some of them with limits that they share; sometimes a ring, which
/// has symmetry.
inline synthesis::Instance random_instance(std::mt19937& random) {
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  const int ranks = 3 + below(2);
  const bool ring = below(3) == 0;
  const int density = 1 + below(3);
  std::vector<std::vector<std::int64_t>> units(at(ranks), std::vector<std::int64_t>(at(ranks), 0));
  const int both_ways = below(2);
  for (int source = 0; source < ranks; ++source) {
    for (int target = 0; target < ranks; ++target) {
      const bool next = target == (source + 1) % ranks;
      const bool previous = both_ways == 1 && source == (target + 1) % ranks;
      const bool linked = ring ? next || previous : below(4) <= density;
      if (linked) units[at(source)][at(target)] = ring || below(3) > 0 ? 1 : 2;
    }
  }
  synthesis::Instance instance = synthesis::link_instance("random", units);
  // Ports that all hops of a rank share.
  if (below(3) == 0) {
    const int only = below(2) == 0 ? -1 : below(static_cast<unsigned>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      if (only >= 0 && rank != only) continue;
      const int limit = static_cast<int>(instance.limits.size());
      instance.limits.push_back({.name = "port", .units = 1});
      for (std::size_t hop = 0; hop < instance.hops.size(); ++hop) {
        if (instance.hops[hop].source != rank) continue;
        instance.hops[hop].limits.push_back(limit);
        instance.limits.back().hops.push_back(static_cast<int>(hop));
      }
    }
  }
  return instance;
}

/// Demand of a random collective, or of up to three chunks with random targets.
inline synthesis::Demand random_demand(std::mt19937& random, int ranks) {
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  using enum CollectiveKind;
  const int root = below(static_cast<unsigned>(ranks));
  switch (below(6)) {
    case 0:
      return synthesis::make_demand(AllGather, ranks, ranks == 3 ? 1 + below(2) : 1);
    case 1:
      return synthesis::make_demand(Broadcast, ranks, 1 + below(2), root);
    case 2:
      return synthesis::make_demand(Gather, ranks, 1 + below(2), root);
    case 3:
      return synthesis::make_demand(Scatter, ranks, 1 + below(2), root);
    case 4:
      return synthesis::make_demand(AllToAll, 3, 1);
    default:
      break;
  }
  synthesis::Demand demand{.ranks = ranks};
  const int chunks = 1 + below(3);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    synthesis::ChunkDemand& added = demand.chunks.emplace_back();
    added.source = below(static_cast<unsigned>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank != added.source && below(2) == 0) added.targets.push_back(rank);
    }
  }
  return demand;
}

}  // namespace cclgym::test
