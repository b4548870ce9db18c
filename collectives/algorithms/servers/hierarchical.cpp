// Hierarchical AllReduce (MSCCLang, figure 3a): N servers of G ranks, four phases.
//
// In place, one chunk a rank. 1. In each server, a ring ReduceScatter of runs of N chunks: rank g
// of the server has the server's sum of run g. 2. Across servers, ranks of one place in their
// servers ReduceScatter the chunks of their run, 3. AllGather them, and 4. each server AllGathers
// the runs.
//
// Inside servers the runs take `channels` channels in turn; these phases use channels [0, channels)
// and [channels, 2 * channels), those across servers the channel after, so that the phases overlap
// when the runtime streams tiles.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/outlines.hpp"
#include "collectives/algorithms/ring_phases.hpp"

namespace cclgym::algorithms {

namespace {

Program hierarchical(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  const int c = request.channels;
  ProgramBuilder p("hierarchical",
                   Contract::make(CollectiveKind::AllReduce, request.ranks, request.ranks, true));
  for (int server = 0; server < n; ++server) {
    ring_reduce_scatter(p, {server * g, g, 1}, 0, n, 0, c);
  }
  for (int gpu = 0; gpu < g; ++gpu) ring_reduce_scatter(p, {gpu, n, g}, gpu * n, 1, 2 * c);
  for (int gpu = 0; gpu < g; ++gpu) ring_all_gather(p, {gpu, n, g}, gpu * n, 1, 2 * c);
  for (int server = 0; server < n; ++server) {
    ring_all_gather(p, {server * g, g, 1}, 0, n, c, c);
  }
  return p.finish();
}

std::int64_t hierarchical_blocks(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  const std::int64_t across = request.ranks > inside ? 1 : 0;
  if (inside == 1) return across;
  // A run stays on one channel; where it begins and ends, a block does one thing only.
  const std::int64_t spread = std::min(request.channels, inside);
  return 2 * spread + (inside == 2 || spread > 1 ? 2 : 0) + across;
}

}  // namespace

AlgorithmEntry hierarchical_entry() {
  return {.name = "hierarchical",
          .description =
              "ReduceScatter in each server, AllReduce across servers, AllGather in each server",
          .collectives = {CollectiveKind::AllReduce},
          .across_servers = "pipelined",
          .trace = hierarchical,
          .thread_blocks = hierarchical_blocks,
          .outline = hierarchical_outline};
}

}  // namespace cclgym::algorithms
