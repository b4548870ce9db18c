// Pairwise AllToAll (OpenMPI 4.1, ompi/mca/coll/base/coll_base_alltoall.c: pairwise): in step k a
// rank sends to the k-th rank after it, receives from the k-th rank before it, and continues when
// both are done. Any number n >= 2 of ranks takes n - 1 steps.
//
// It runs out of place with one chunk per slice and `channels` instances (parallelize). Kernels
// separate the steps of a rank: its next step begins when the previous one is done, independently
// of the other ranks. Beyond kMostKernels ranks some steps share a kernel.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program pairwise(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("pairwise", Contract::make(CollectiveKind::AllToAll, n, 1));
  const auto parallel = p.parallelize(request.channels);
  const int steps_a_kernel = (n + kMostKernels - 1) / kMostKernels;
  for (int step = 1; step <= n; ++step) {  // the last step is the copy to itself
    if (step % steps_a_kernel == 0) p.next_kernel();
    for (int rank = 0; rank < n; ++rank) {
      const int to = (rank + step) % n;
      (void)p.chunk(rank, Buffer::Input, to).copy(to, Buffer::Output, rank);
    }
  }
  return p.finish();
}

// Each kernel has a block to one rank and a block from another.
std::int64_t pairwise_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * 2;
}

}  // namespace

AlgorithmEntry pairwise_entry() {
  return {
      .name = "pairwise",
      .description =
          "step k sends to the k-th next rank and receives from the k-th previous; ranks - 1 steps",
      .collectives = {CollectiveKind::AllToAll},
      .memory = {{CollectiveKind::AllToAll, 900}},
      .trace = pairwise,
      .thread_blocks = pairwise_blocks};
}

}  // namespace cclgym::algorithms
