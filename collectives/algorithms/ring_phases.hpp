// The two phases of ring algorithms on a group of ranks, in place. Internal to the algorithms.
#pragma once

#include <span>

#include "collectives/algorithms/rank_group.hpp"
#include "collectives/program.hpp"
#include "core/index.hpp"

namespace cclgym::algorithms {

/// Place of a group at a position of its ring, which wraps around. `order`: places by position;
/// empty: 0, 1, ….
inline int place_on_ring(const RankGroup& ring, std::span<const int> order, int position) {
  position %= ring.count;
  return order.empty() ? position : order[at(position)];
}

/// Sums run r around the ring to ring[r], on channel + r % spread.
inline void ring_reduce_scatter(ProgramBuilder& p, const RankGroup& ring, const Runs& runs,
                                int channel, int spread = 1, std::span<const int> order = {}) {
  for (int k = 0; k < ring.count; ++k) {
    const int r = place_on_ring(ring, order, k);
    ChunkRef c =
        p.chunk(ring[place_on_ring(ring, order, k + 1)], runs.buffer, runs.first(r), runs.count);
    for (int step = 2; step <= ring.count; ++step) {
      const int next = place_on_ring(ring, order, k + step);
      const ChunkRef own = p.chunk(ring[next], runs.buffer, c.index(), runs.count);
      c = own.reduce(c, {.channel = channel + r % spread});
    }
  }
}

/// Copies run r around the ring from ring[r], on channel + r % spread.
inline void ring_all_gather(ProgramBuilder& p, const RankGroup& ring, const Runs& runs, int channel,
                            int spread = 1, std::span<const int> order = {}) {
  for (int k = 0; k < ring.count; ++k) {
    const int r = place_on_ring(ring, order, k);
    ChunkRef c = p.chunk(ring[r], runs.buffer, runs.first(r), runs.count);
    for (int step = 1; step < ring.count; ++step) {
      const int next = place_on_ring(ring, order, k + step);
      c = c.copy(ring[next], runs.buffer, c.index(), {.channel = channel + r % spread});
    }
  }
}

}  // namespace cclgym::algorithms
