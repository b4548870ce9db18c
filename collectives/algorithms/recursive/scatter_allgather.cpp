// Broadcast as a Scatter and an AllGather (van de Geijn; OpenMPI 4.1,
// ompi/mca/coll/base/coll_base_bcast.c: scatter_allgather and scatter_allgather_ring). The Scatter
// runs along a binomial tree: a rank sends half of its slices, then a quarter, …, one message after
// the other. The AllGather uses recursive doubling (here for a power-of-two number of ranks) or a
// ring (for any number >= 2).
//
// It runs in place with one chunk per rank and `channels` instances (parallelize). Ranks are
// counted from the root. Kernels separate the sends of a rank.
#include <algorithm>
#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"

namespace cclgym::algorithms {

namespace {

/// Traces one kernel per step; the operations traced afterwards are in the next kernel.
void scatter(ProgramBuilder& p, int ranks, int root) {
  const auto half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)) / 2);
  for (int distance = half; distance > 0; distance /= 2) {
    for (int from = 0; from + distance < ranks; from += 2 * distance) {
      const int to = from + distance;
      (void)p.chunk((from + root) % ranks, Buffer::Input, to, std::min(distance, ranks - to))
          .copy((to + root) % ranks, Buffer::Input, to);
    }
    p.next_kernel();
  }
}

Program scatter_allgather(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("scatter-allgather",
                   Contract::make(CollectiveKind::Broadcast, n, n, true, request.root));
  const auto parallel = p.parallelize(request.channels);
  scatter(p, n, request.root);
  double_up(p, Buffer::Input, n, 1, request.root);
  return p.finish();
}

Program scatter_allgather_ring(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("scatter-allgather-ring",
                   Contract::make(CollectiveKind::Broadcast, n, n, true, request.root));
  const auto parallel = p.parallelize(request.channels);
  scatter(p, n, request.root);
  for (int slice = 0; slice < n; ++slice) {
    ChunkRef c = p.chunk((slice + request.root) % n, Buffer::Input, slice);
    for (int step = 1; step < n; ++step) {
      c = c.copy((slice + step + request.root) % n, Buffer::Input, slice);
    }
  }
  return p.finish();
}

// Thread blocks of the busiest kernel, the AllGather.
std::int64_t scatter_allgather_ring_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * (request.ranks == 2 ? 2 : 1);
}

}  // namespace

AlgorithmEntry scatter_allgather_entry() {
  return {.name = "scatter-allgather",
          .description = "Scatter along a binomial tree, then recursive-doubling AllGather",
          .collectives = {CollectiveKind::Broadcast},
          .ranks = RankRule::power_of_two(),
          .trace = scatter_allgather,
          .thread_blocks = doubling_blocks};
}

AlgorithmEntry scatter_allgather_ring_entry() {
  return {.name = "scatter-allgather-ring",
          .description = "Scatter along a binomial tree, then AllGather around a ring",
          .collectives = {CollectiveKind::Broadcast},
          .memory = {{CollectiveKind::Broadcast, 100}},
          .trace = scatter_allgather_ring,
          .thread_blocks = scatter_allgather_ring_blocks};
}

}  // namespace cclgym::algorithms
