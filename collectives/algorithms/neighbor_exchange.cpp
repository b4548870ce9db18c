// Neighbor-exchange AllGather (Chen, Zhang, Wang and Yuan, HPC Asia 2005; OpenMPI 4.1,
// ompi/mca/coll/base/coll_base_allgather.c: neighborexchange). The number n of ranks is even; there
// are n / 2 steps.
//
// A rank exchanges its slice with one neighbour on the ring. Then, alternating between both
// neighbours, it exchanges the two slices that it received last.
//
// It runs in place with one chunk per slice and `channels` instances (parallelize).
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program neighbor_exchange(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("neighbor-exchange", Contract::make(CollectiveKind::AllGather, n, 1, true));
  const auto parallel = p.parallelize(request.channels);
  const auto neighbour = [&](int rank, int step) {
    return rank % 2 == step % 2 ? (rank + 1) % n : (rank + n - 1) % n;
  };
  std::vector<int> latest;  // first of the two slices that a rank sends next
  for (int rank = 0; rank < n; ++rank) {
    (void)p.chunk(rank, Buffer::Output, rank).copy(neighbour(rank, 0), Buffer::Output, rank);
    latest.push_back(rank - rank % 2);
  }
  for (int step = 1; step < n / 2; ++step) {
    std::vector<int> received;
    for (int rank = 0; rank < n; ++rank) {
      const int other = neighbour(rank, step);
      const int slice = latest[static_cast<std::size_t>(rank)];
      (void)p.chunk(rank, Buffer::Output, slice, 2).copy(other, Buffer::Output, slice);
      received.push_back(latest[static_cast<std::size_t>(other)]);
    }
    latest = received;
  }
  return p.finish();
}

// Blocks to and from the neighbour on either side.
std::int64_t neighbor_exchange_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * (request.ranks == 2 ? 2 : 4);
}

}  // namespace

AlgorithmEntry neighbor_exchange_entry() {
  return {
      .name = "neighbor-exchange",
      .description = "exchange of two slices at a time with both neighbours in turn; ranks/2 steps",
      .collectives = {CollectiveKind::AllGather},
      .ranks = RankRule::even(),
      .memory = {{CollectiveKind::AllGather, 55}},
      .trace = neighbor_exchange,
      .thread_blocks = neighbor_exchange_blocks};
}

}  // namespace cclgym::algorithms
