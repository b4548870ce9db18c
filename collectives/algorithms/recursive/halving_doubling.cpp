// Rabenseifner's AllReduce (Thakur, Rabenseifner and Gropp, IJHPCA 2005): recursive-halving
// ReduceScatter, then recursive-doubling AllGather. It runs in place; a power-of-two number n of
// ranks takes 2 log2 n steps.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"

namespace cclgym::algorithms {

namespace {

Program halving_doubling(const AlgorithmRequest& request) {
  ProgramBuilder p("halving-doubling", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                                      request.ranks * request.channels, true));
  halve(p, request.ranks, request.channels);
  double_up(p, Buffer::Input, request.ranks, request.channels);
  return p.finish();
}

// One block per channel fewer than doubling_blocks: the sum that contains the nearest partner's
// part goes back to that partner.
std::int64_t halving_doubling_blocks(const AlgorithmRequest& request) {
  return doubling_blocks(request) - request.channels;
}

}  // namespace

AlgorithmEntry halving_doubling_entry() {
  return {
      .name = "halving-doubling",
      .description =
          "Rabenseifner's algorithm: recursive-halving ReduceScatter, recursive-doubling AllGather",
      .collectives = {CollectiveKind::AllReduce},
      .ranks = RankRule::power_of_two(),
      .trace = halving_doubling,
      .thread_blocks = halving_doubling_blocks};
}

}  // namespace cclgym::algorithms
