// All-Pairs (MSCCLang, section 7.1): every rank exchanges data directly with every other rank, so
// AllReduce takes two communication steps for any number of ranks. It is meant for small sizes.
//
// It runs in place with one chunk per rank and channel, size / (ranks * channels) bytes; rank r
// owns slice r. The slices of the other ranks are gathered in scratch instead of being added on
// arrival, so that all of them can arrive at once.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program all_pairs(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const bool reduces = request.collective != CollectiveKind::AllGather;
  const bool spreads = request.collective != CollectiveKind::ReduceScatter;
  const Buffer buffer = reduces ? Buffer::Input : Buffer::Output;
  ProgramBuilder p("all-pairs",
                   Contract::make(request.collective, n, reduces && spreads ? n : 1, true));
  const auto parallel = p.parallelize(request.channels);
  for (int r = 0; r < n; ++r) {
    for (int i = 1; reduces && i < n; ++i)
      (void)p.chunk((r + i) % n, buffer, r).copy(r, Buffer::Scratch, i - 1);
    ChunkRef c = p.chunk(r, buffer, r);
    for (int i = 1; reduces && i < n; ++i) c = c.reduce(p.chunk(r, Buffer::Scratch, i - 1));
    for (int i = 1; spreads && i < n; ++i) (void)c.copy((r + i) % n, buffer, r);
  }
  return p.finish();
}

}  // namespace

std::int64_t all_pairs_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * 2 * (request.ranks - 1);
}

AlgorithmEntry all_pairs_entry() {
  return {
      .name = "all-pairs",
      .description = "direct exchange between every two ranks; one or two steps, for small sizes",
      .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                      CollectiveKind::ReduceScatter},
      .shares_blocks = true,
      .adds_while_receiving = false,
      .trace = all_pairs,
      .thread_blocks = all_pairs_blocks};
}

}  // namespace cclgym::algorithms
