// The two phases of ring algorithms on a subset of the ranks, in place. Internal to the algorithms.
#pragma once

#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// A ring of `count` ranks, `stride` apart.
struct EvenRing {
  int first;
  int count;
  int stride;
  int operator[](int place) const { return first + place % count * stride; }
};

/// Sums run r of `count` chunks around the ring to ring[r], on channel + r % spread.
inline void ring_reduce_scatter(ProgramBuilder& p, const EvenRing& ring, int offset, int count,
                                int channel, int spread = 1) {
  for (int r = 0; r < ring.count; ++r) {
    ChunkRef c = p.chunk(ring[r + 1], Buffer::Input, offset + r * count, count);
    for (int step = 2; step <= ring.count; ++step) {
      const ChunkRef own = p.chunk(ring[r + step], Buffer::Input, c.index(), count);
      c = own.reduce(c, {.channel = channel + r % spread});
    }
  }
}

/// Copies run r of `count` chunks from ring[r] around the ring, on channel + r % spread.
inline void ring_all_gather(ProgramBuilder& p, const EvenRing& ring, int offset, int count,
                            int channel, int spread = 1) {
  for (int r = 0; r < ring.count; ++r) {
    ChunkRef c = p.chunk(ring[r], Buffer::Input, offset + r * count, count);
    for (int step = 1; step < ring.count; ++step) {
      c = c.copy(ring[r + step], Buffer::Input, c.index(), {.channel = channel + r % spread});
    }
  }
}

}  // namespace cclgym::algorithms
