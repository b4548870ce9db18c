// AllToNext over all NICs (MSCCLang, section 7.4): rank r sends its buffer to rank r + 1. If r + 1
// is on the next node, the buffer is cut into one chunk per rank of the node, and each rank sends
// its chunk across the network.
//
// It runs out of place with `channels` instances (parallelize).
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program all_to_next(const AlgorithmRequest& request) {
  const int g = request.ranks_per_server;
  ProgramBuilder p("all-to-next", Contract::make(CollectiveKind::AllToNext, request.ranks, g));
  const auto parallel = p.parallelize(request.channels);
  for (int rank = 0; rank + 1 < request.ranks; ++rank) {
    const ChunkRef whole = p.chunk(rank, Buffer::Input, 0, g);
    if ((rank + 1) % g != 0) {
      (void)whole.copy(rank + 1, Buffer::Output, 0);
      continue;
    }
    for (int i = 0; i < g; ++i) {
      const int helper = rank + 1 - g + i;
      ChunkRef c = p.chunk(rank, Buffer::Input, i);
      if (helper != rank) c = c.copy(helper, Buffer::Scratch, 0);
      if (i != 0) c = c.copy(helper + g, Buffer::Scratch, 1);
      (void)c.copy(rank + 1, Buffer::Output, i);
    }
  }
  return p.finish();
}

std::int64_t all_to_next_blocks(const AlgorithmRequest& request) {
  const int inside = request.ranks_per_server;
  if (inside == 1 || inside == request.ranks) return naive_blocks(request);
  return request.channels * std::int64_t{inside + 1};
}

}  // namespace

AlgorithmEntry all_to_next_entry() {
  return {.name = "all-to-next",
          .description = "all ranks of a node help its last rank to reach the next node",
          .collectives = {CollectiveKind::AllToNext},
          .across_servers = "pipelined",
          .trace = all_to_next,
          .thread_blocks = all_to_next_blocks};
}

}  // namespace cclgym::algorithms
