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
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

std::size_t place(int index, std::size_t size) { return static_cast<std::size_t>(index) % size; }

/// Run r of `count` chunks goes round the ring of these ranks, added up, to ranks[r].
void reduce_scatter(ProgramBuilder& p, const std::vector<int>& ranks, int offset, int count,
                    int channel) {
  const int n = static_cast<int>(ranks.size());
  for (int r = 0; r < n; ++r) {
    ChunkRef c =
        p.chunk(ranks[place(r + 1, ranks.size())], Buffer::Input, offset + r * count, count);
    for (int step = 2; step <= n; ++step) {
      const int next = ranks[place(r + step, ranks.size())];
      c = p.chunk(next, Buffer::Input, c.index(), count).reduce(c, {.channel = channel});
    }
  }
}

/// Run r of `count` chunks goes from ranks[r] round the ring of these ranks.
void all_gather(ProgramBuilder& p, const std::vector<int>& ranks, int offset, int count,
                int channel) {
  const int n = static_cast<int>(ranks.size());
  for (int r = 0; r < n; ++r) {
    ChunkRef c = p.chunk(ranks[place(r, ranks.size())], Buffer::Input, offset + r * count, count);
    for (int step = 1; step < n; ++step) {
      const int next = ranks[place(r + step, ranks.size())];
      c = c.copy(next, Buffer::Input, c.index(), {.channel = channel});
    }
  }
}

/// `count` ranks from `first` on, `stride` apart.
std::vector<int> ranks_from(int first, int count, int stride) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * stride);
  return ranks;
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
    reduce_scatter(p, ranks_from(server * g, g, 1), 0, n, 0);
  }
  for (int gpu = 0; gpu < g; ++gpu) reduce_scatter(p, ranks_from(gpu, n, g), gpu * n, 1, 2 * c);
  for (int gpu = 0; gpu < g; ++gpu) all_gather(p, ranks_from(gpu, n, g), gpu * n, 1, 2 * c);
  for (int server = 0; server < n; ++server) {
    const auto parallel = p.parallelize(c);
    all_gather(p, ranks_from(server * g, g, 1), 0, n, c);
  }
  return p.finish();
}

}  // namespace cclgym::algorithms
