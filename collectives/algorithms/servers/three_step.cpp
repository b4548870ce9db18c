// Three-Step AllToAll: all data from one node to another crosses the network as one message. With N
// nodes of G ranks, each node has a gate rank for each other node.
// 1. The ranks of node m send their data for node k to m's gate for k.
// 2. This gate sends the G^2 chunks to k's gate for m.
// 3. That gate distributes them.
//
// It runs out of place with one chunk per pair of ranks and `channels` instances (parallelize).
// Channels [0, channels) carry steps 1 and 2 and the traffic within a node, [channels, 2 *
// channels) step 3.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/servers/grid.hpp"

namespace cclgym::algorithms {

namespace {

Program three_step(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  const int n = request.ranks / g;
  ProgramBuilder p("three-step", Contract::make(CollectiveKind::AllToAll, request.ranks, 1));
  const auto parallel = p.parallelize(request.channels);
  // The ranks of a node take turns as gates for the other nodes; a gate has room for the nodes it
  // serves.
  const auto number = [](int server, int other) { return other < server ? other : other - 1; };
  const auto gate = [&](int server, int other) { return server * g + number(server, other) % g; };
  const auto room = [&](int server, int other) { return number(server, other) / g * g * g; };
  const int arrivals = (n + g - 2) / g * g * g;  // after the room for outgoing chunks
  for (const auto& [m, k, from] : grid(n, n, g)) {
    const ChunkRef all = p.chunk(m * g + from, Buffer::Input, k * g, g);
    if (m != k) (void)all.copy(gate(m, k), Buffer::Scratch, room(m, k) + from * g, {.channel = 0});
    for (int to = 0; m == k && to < g; ++to) {
      const ChunkRef c = p.chunk(m * g + from, Buffer::Input, k * g + to);
      (void)c.copy(k * g + to, Buffer::Output, m * g + from, {.channel = 0});
    }
  }
  for (const auto& [m, k, from] : grid(n, n, g)) {
    if (m == k) continue;
    const int arrived = arrivals + room(k, m);
    if (from == 0) {
      const ChunkRef all = p.chunk(gate(m, k), Buffer::Scratch, room(m, k), g * g);
      (void)all.copy(gate(k, m), Buffer::Scratch, arrived, {.channel = 0});
    }
    for (int to = 0; to < g; ++to) {
      const ChunkRef c = p.chunk(gate(k, m), Buffer::Scratch, arrived + from * g + to);
      (void)c.copy(k * g + to, Buffer::Output, m * g + from, {.channel = request.channels});
    }
  }
  return p.finish();
}

// Blocks to and from the ranks of the node, on the first channels for data that stays there and on
// the others for data that arrived; blocks to and from the gates of the nodes that the GPU serves;
// and blocks inside the GPU on all channels.
std::int64_t three_step_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const std::int64_t others = request.ranks / inside - 1;
  const std::int64_t served = (others + inside - 1) / inside;
  const std::int64_t gates = std::min(others, inside - 1);
  const std::int64_t on_first = 2 * (inside - 1) + 2 * served + 1;
  return request.channels * (on_first + (others > 0 ? inside - 1 + gates + 1 : 0));
}

}  // namespace

AlgorithmEntry three_step_entry() {
  return {
      .name = "three-step",
      .description =
          "data of a node for another crosses the network together, through one rank of each node",
      .collectives = {CollectiveKind::AllToAll},
      .across_servers = "gateway",
      .memory = {{CollectiveKind::AllToAll, 400}},
      .trace = three_step,
      .thread_blocks = three_step_blocks};
}

}  // namespace cclgym::algorithms
