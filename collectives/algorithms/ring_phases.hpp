// The two phases of ring algorithms on some of the ranks, in place. Internal to the algorithms.
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

/// Run r of `count` chunks goes round the ring, added up, to ring[r], on channel + r % spread.
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

/// Run r of `count` chunks goes from ring[r] round the ring, on channel + r % spread.
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
