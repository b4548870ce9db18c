// Hierarchical AllReduce (MSCCLang, figure 3a) on N nodes of G ranks, in four phases.
//
// It runs in place with one chunk per rank.
// 1. Each node runs a ring ReduceScatter on runs of N chunks: its rank g has the node's sum of run
//    g.
// 2. Across nodes, the ranks with the same position in their nodes ReduceScatter the chunks of
//    their run.
// 3. The same ranks AllGather these chunks.
// 4. Each node AllGathers the runs.
//
// Within nodes the runs take `channels` channels in turn. Phase 1 uses channels [0, channels) and
// phase 4 [channels, 2 * channels); the phases across nodes use the next channel, so that the
// phases overlap when the runtime streams tiles.
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
    ring_reduce_scatter(p, {server * g, g, 1}, input_runs(0, n), 0, c);
  }
  for (int gpu = 0; gpu < g; ++gpu)
    ring_reduce_scatter(p, {gpu, n, g}, input_runs(gpu * n, 1), 2 * c);
  for (int gpu = 0; gpu < g; ++gpu) ring_all_gather(p, {gpu, n, g}, input_runs(gpu * n, 1), 2 * c);
  for (int server = 0; server < n; ++server) {
    ring_all_gather(p, {server * g, g, 1}, input_runs(0, n), c, c);
  }
  return p.finish();
}

std::int64_t hierarchical_blocks(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  const std::int64_t across = request.ranks > inside ? 1 : 0;
  if (inside == 1) return across;
  // A run stays on one channel; at its first and last rank, a block only sends or only receives.
  const std::int64_t spread = std::min(request.channels, inside);
  return 2 * spread + (inside == 2 || spread > 1 ? 2 : 0) + across;
}

}  // namespace

AlgorithmEntry hierarchical_entry() {
  return {
      .name = "hierarchical",
      .description = "ReduceScatter in each node, AllReduce across nodes, AllGather in each node",
      .collectives = {CollectiveKind::AllReduce},
      .across_servers = "pipelined",
      .trace = hierarchical,
      .thread_blocks = hierarchical_blocks,
      .outline = hierarchical_outline};
}

}  // namespace cclgym::algorithms
