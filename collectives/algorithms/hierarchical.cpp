// Hierarchical AllReduce (MSCCLang, figure 3a): N servers of G ranks, four phases.
//
// In place, one chunk a rank. 1. In each server, a ring ReduceScatter of runs of N chunks: rank g
// of the server has the server's sum of run g. 2. Across servers, ranks of one place in their
// servers ReduceScatter the chunks of their run, 3. AllGather them, and 4. each server AllGathers
// the runs.
//
// `channels` instances share the phases inside servers (parallelize); these use channels
// [0, channels) and [channels, 2 * channels), those across servers the channel after, so that the
// phases overlap when the runtime streams tiles.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// A ring of `count` ranks, `stride` apart.
struct Ring {
  int first;
  int count;
  int stride;
  int operator[](int place) const { return first + place % count * stride; }
};

/// Run r of `count` chunks goes round the ring, added up, to ring[r].
void reduce_scatter(ProgramBuilder& p, const Ring& ring, int offset, int count, int channel) {
  for (int r = 0; r < ring.count; ++r) {
    ChunkRef c = p.chunk(ring[r + 1], Buffer::Input, offset + r * count, count);
    for (int step = 2; step <= ring.count; ++step) {
      const ChunkRef own = p.chunk(ring[r + step], Buffer::Input, c.index(), count);
      c = own.reduce(c, {.channel = channel});
    }
  }
}

/// Run r of `count` chunks goes from ring[r] round the ring.
void all_gather(ProgramBuilder& p, const Ring& ring, int offset, int count, int channel) {
  for (int r = 0; r < ring.count; ++r) {
    ChunkRef c = p.chunk(ring[r], Buffer::Input, offset + r * count, count);
    for (int step = 1; step < ring.count; ++step) {
      c = c.copy(ring[r + step], Buffer::Input, c.index(), {.channel = channel});
    }
  }
}

}  // namespace

Program hierarchical(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  const int c = request.channels;
  ProgramBuilder p("hierarchical",
                   Contract::make(CollectiveKind::AllReduce, request.ranks, request.ranks, true));
  for (int server = 0; server < n; ++server) {
    const auto parallel = p.parallelize(c);
    reduce_scatter(p, {server * g, g, 1}, 0, n, 0);
  }
  for (int gpu = 0; gpu < g; ++gpu) reduce_scatter(p, {gpu, n, g}, gpu * n, 1, 2 * c);
  for (int gpu = 0; gpu < g; ++gpu) all_gather(p, {gpu, n, g}, gpu * n, 1, 2 * c);
  for (int server = 0; server < n; ++server) {
    const auto parallel = p.parallelize(c);
    all_gather(p, {server * g, g, 1}, 0, n, c);
  }
  return p.finish();
}

}  // namespace cclgym::algorithms
