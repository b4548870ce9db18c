// Hierarchical All-Pairs AllReduce: All-Pairs (MSCCLang, section 7.1) in each server of G ranks,
// and between its two steps one more, across the servers. Three communication steps; for small
// sizes.
//
// In place, one chunk for each rank of a server; `channels` instances (parallelize). 1. Rank g of a
// server adds up its server's chunks g. 2. Ranks of one place in their servers send each other
// these sums, and add them. 3. Each rank sends the total to the others of its server. What arrives
// waits in scratch, so that all of it can arrive at once; a single chunk is added as it arrives.
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

// To and from the ranks of its server, and those of its place in the others; a few less if a sum is
// sent on.
std::int64_t hierarchical_all_pairs_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const std::int64_t servers = request.ranks / inside;
  return request.channels * (2 * (inside - 1) + 2 * (servers - 1));
}

}  // namespace

AlgorithmEntry hierarchical_all_pairs_entry() {
  return {
      .name = "hierarchical-all-pairs",
      .description = "all-pairs in each server and across servers, three steps; for small sizes",
      .collectives = {CollectiveKind::AllReduce},
      .adds_while_receiving = false,
      .across_servers = "all-pairs",
      .trace = hierarchical_all_pairs,
      .thread_blocks = hierarchical_all_pairs_blocks};
}

}  // namespace cclgym::algorithms
