// Two-Step AllToAll (MSCCLang, section 7.2): the data of a node for one rank of another node is
// first collected in the scratch of that rank's counterpart, then crosses the network as one
// message.
//
// It runs out of place with one chunk per pair of ranks and `channels` instances (parallelize). A
// rank sends one message per destination node to each rank of its own node, and one message of G
// chunks to its counterpart in each other node.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/servers/grid.hpp"

namespace cclgym::algorithms {

namespace {

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

// Blocks to and from the ranks of the node, to and from the counterparts, and inside the GPU; a few
// fewer if a message is sent on.
std::int64_t two_step_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const std::int64_t servers = request.ranks / inside;
  return request.channels * (2 * (inside - 1) + 2 * (servers - 1) + 1);
}

}  // namespace

AlgorithmEntry two_step_entry() {
  return {
      .name = "two-step",
      .description = "chunks for a rank of another node cross the network together, as one message",
      .collectives = {CollectiveKind::AllToAll},
      .across_servers = "pipelined",
      .memory = {{CollectiveKind::AllToAll, 250}},
      .trace = two_step,
      .thread_blocks = two_step_blocks};
}

}  // namespace cclgym::algorithms
