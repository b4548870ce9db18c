// Random small timed instances for tests.
#pragma once

#include <random>

#include "core/index.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::test {

/// A number from 0 to count - 1, the same on every system.
inline int draw(std::mt19937& random, int count) {
  return static_cast<int>(random() % static_cast<unsigned>(count));
}

/// A one-way ring of ranks and up to `extra` further hops, each with a limit of 1 or 2 ticks and 0
/// or 1 tick of latency; sometimes a second limit that two hops share; with a switch in place of
/// the last rank if `has_switch`.
inline synthesis::TimedInstance random_timed(std::mt19937& random, int ranks, int extra,
                                             bool has_switch = false) {
  synthesis::TimedInstance timed;
  synthesis::Instance& instance = timed.instance;
  instance.name = "random";
  instance.ranks = ranks;
  const auto add = [&](int source, int target) {
    std::vector<int> limits{static_cast<int>(instance.limits.size())};
    timed.occupancy.push_back(1 + draw(random, 2));
    int busy = timed.occupancy.back();
    if (!instance.limits.empty() && draw(random, 4) == 0) {
      const int other = draw(random, static_cast<int>(instance.limits.size()));
      limits.insert(limits.begin(), other);
      busy = std::max(busy, timed.occupancy[at(other)]);
    }
    instance.limits.push_back({.name = "limit"});
    instance.add_hop({.source = source, .target = target, .limits = limits});
    timed.duration.push_back(busy + draw(random, 2));
  };
  for (int rank = 0; rank < ranks; ++rank) add(rank, (rank + 1) % ranks);
  for (int k = 0; k < extra; ++k) {
    const int source = draw(random, ranks);
    add(source, (source + 1 + draw(random, ranks - 1)) % ranks);
  }
  if (has_switch) {
    timed.switches.assign(at(ranks), 0);
    timed.switches.back() = 1;
  }
  return timed;
}

}  // namespace cclgym::test
