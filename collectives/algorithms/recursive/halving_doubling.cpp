// Rabenseifner's AllReduce (Thakur, Rabenseifner and Gropp, IJHPCA 2005): recursive-halving
// ReduceScatter, then recursive-doubling AllGather. Power-of-two ranks, 2 log2 n steps. In place.
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"

namespace cclgym::algorithms {

Program halving_doubling(const AlgorithmRequest& request) {
  ProgramBuilder p("halving-doubling", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                                      request.ranks * request.channels, true));
  halve(p, request.ranks, request.channels);
  double_up(p, Buffer::Input, request.ranks, request.channels);
  return p.finish();
}

}  // namespace cclgym::algorithms
