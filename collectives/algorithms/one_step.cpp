// One-step AllReduce: every rank sends all its data to every other rank, and each rank adds up
// everything. The single communication step moves n - 1 times the bytes, so the algorithm is meant
// for the smallest sizes.
//
// It runs in place with one chunk and `channels` instances (parallelize). Arriving data waits in
// scratch, since the rank's own data is still being sent.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program one_step(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("one-step", Contract::make(CollectiveKind::AllReduce, n, 1, true));
  const auto parallel = p.parallelize(request.channels);
  for (int r = 0; r < n; ++r) {
    for (int i = 1; i < n; ++i)
      (void)p.chunk((r + i) % n, Buffer::Input, 0).copy(r, Buffer::Scratch, i - 1);
  }
  for (int r = 0; r < n; ++r) {
    ChunkRef c = p.chunk(r, Buffer::Input, 0);
    for (int i = 1; i < n; ++i) c = c.reduce(p.chunk(r, Buffer::Scratch, i - 1));
  }
  return p.finish();
}

}  // namespace

AlgorithmEntry one_step_entry() {
  return {
      .name = "one-step",
      .description = "every rank sends all its data to every other rank; for the smallest sizes",
      .collectives = {CollectiveKind::AllReduce},
      .adds_while_receiving = false,
      .trace = one_step,
      .thread_blocks = all_pairs_blocks};
}

}  // namespace cclgym::algorithms
