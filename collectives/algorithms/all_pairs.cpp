// All-Pairs (MSCCLang, section 7.1): every rank exchanges data directly with every other rank, so
// AllReduce takes two communication steps for any number of ranks. It is meant for small sizes.
//
// It runs in place with one chunk per rank and channel, size / (ranks * channels) bytes; rank r
// owns slice r. The slices of the other ranks are gathered in scratch instead of being added on
// arrival, so that all of them can arrive at once.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/all_pairs_phases.hpp"

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
  const RankGroup all{0, n, 1};
  const Runs runs{buffer, 0, 1, 1};
  for (int r = 0; r < n; ++r) {
    if (reduces) (void)collect_run(p, all, runs, r, 0);
    if (spreads) spread_run(p, all, runs, r);
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
