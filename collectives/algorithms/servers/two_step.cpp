// Two-Step AllToAll (MSCCLang, section 7.2): the data of a node for one rank of another node is
// first collected in the scratch of that rank's counterpart, then crosses the network as one
// message.
//
// Out of place, one chunk per pair of ranks; `channels` instances (parallelize). A rank sends one
// message per destination node to each rank of its own node, and one message of G chunks to its
// counterpart in each other node.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/servers/grid.hpp"

namespace cclgym::algorithms {

Program two_step(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  ProgramBuilder p("two-step", Contract::make(CollectiveKind::AllToAll, request.ranks, 1));
  const auto parallel = p.parallelize(request.channels);
  for (const auto& [m, k, to] : grid(n, n, g)) {  // from node m to rank `to` of node k
    for (int from = 0; from < g; ++from) {
      const ChunkRef c = p.chunk(m * g + from, Buffer::Input, k * g + to);
      if (m == k) (void)c.copy(k * g + to, Buffer::Output, m * g + from, {.channel = 0});
      if (m != k) (void)c.copy(m * g + to, Buffer::Scratch, k * g + from, {.channel = 0});
    }
    if (m == k) continue;
    const ChunkRef all = p.chunk(m * g + to, Buffer::Scratch, k * g, g);
    (void)all.copy(k * g + to, Buffer::Output, m * g, {.channel = 0});
  }
  return p.finish();
}

}  // namespace cclgym::algorithms
