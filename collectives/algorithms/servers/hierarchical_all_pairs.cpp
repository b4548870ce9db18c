// Hierarchical All-Pairs AllReduce: All-Pairs (MSCCLang, section 7.1) in each node of G ranks, with
// one step across the nodes between its two steps. It has three communication steps and is meant
// for small sizes.
//
// It runs in place with one chunk per rank of a node and `channels` instances (parallelize).
// 1. Rank g of a node sums chunk g of its node.
// 2. Ranks with the same position in their nodes exchange and add these sums.
// 3. Each rank sends the total to the other ranks of its node.
//
// Arriving chunks wait in scratch, so that all can arrive at once; a single chunk is added as it
// arrives.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program hierarchical_all_pairs(const AlgorithmRequest& request) {
  const int ranks = request.ranks;
  const int g = request.ranks_per_server;
  const int n = ranks / g;
  ProgramBuilder p("hierarchical-all-pairs",
                   Contract::make(CollectiveKind::AllReduce, ranks, g, true));
  const auto parallel = p.parallelize(request.channels);
  const auto neighbour = [g](int r, int i) { return r - r % g + (r + i) % g; };
  for (int r = 0; r < ranks; ++r) {
    ChunkRef c = p.chunk(r, Buffer::Input, r % g);
    if (g == 2) (void)c.reduce(p.chunk(neighbour(r, 1), Buffer::Input, r % g));
    for (int i = 1; g > 2 && i < g; ++i)
      (void)p.chunk(neighbour(r, i), Buffer::Input, r % g).copy(r, Buffer::Scratch, i - 1);
    for (int i = 1; g > 2 && i < g; ++i) c = c.reduce(p.chunk(r, Buffer::Scratch, i - 1));
  }
  for (int r = 0; r < ranks; ++r) {
    for (int i = 1; i < n; ++i)
      (void)p.chunk((r + i * g) % ranks, Buffer::Input, r % g).copy(r, Buffer::Scratch, g - 2 + i);
  }
  for (int r = 0; r < ranks; ++r) {
    ChunkRef c = p.chunk(r, Buffer::Input, r % g);
    for (int i = 1; i < n; ++i) c = c.reduce(p.chunk(r, Buffer::Scratch, g - 2 + i));
    for (int i = 1; i < g; ++i) (void)c.copy(neighbour(r, i), Buffer::Input, r % g);
  }
  return p.finish();
}

// Blocks to and from the other ranks of the node, and to and from the ranks with the same position
// in the other nodes; a few fewer if a sum is sent on.
std::int64_t hierarchical_all_pairs_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const std::int64_t servers = request.ranks / inside;
  return request.channels * (2 * (inside - 1) + 2 * (servers - 1));
}

}  // namespace

AlgorithmEntry hierarchical_all_pairs_entry() {
  return {.name = "hierarchical-all-pairs",
          .description = "all-pairs in each node and across nodes, three steps; for small sizes",
          .collectives = {CollectiveKind::AllReduce},
          .adds_while_receiving = false,
          .across_servers = "all-pairs",
          .trace = hierarchical_all_pairs,
          .thread_blocks = hierarchical_all_pairs_blocks};
}

}  // namespace cclgym::algorithms
