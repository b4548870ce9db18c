// Recursive-halving ReduceScatter (Thakur, Rabenseifner and Gropp, IJHPCA 2005): partners at
// distance n / 2, …, 2, 1 exchange halves and add. A power-of-two number n of ranks takes log2 n
// steps.
//
// It runs in place and sends size / 2, … 2 size / n, size / n bytes over all channels together.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"

namespace cclgym::algorithms {

namespace {

Program recursive_halving(const AlgorithmRequest& request) {
  ProgramBuilder p("recursive-halving", Contract::make(CollectiveKind::ReduceScatter, request.ranks,
                                                       request.channels, true));
  halve(p, request.ranks, request.channels);
  return p.finish();
}

}  // namespace

AlgorithmEntry recursive_halving_entry() {
  return {.name = "recursive-halving",
          .description =
              "partners at distance ranks/2, …, 2, 1 exchange halves and add; log2(ranks) steps",
          .collectives = {CollectiveKind::ReduceScatter},
          .ranks = RankRule::power_of_two(),
          .trace = recursive_halving,
          .thread_blocks = doubling_blocks};
}

}  // namespace cclgym::algorithms
