// Linear algorithms: all data goes directly to rank 0, and from there directly to its destination.
// This is OpenMPI's basic_linear AllReduce (4.1, ompi/mca/coll/base/coll_base_allreduce.c). Its
// linear AllGather and ReduceScatter also go through rank 0, but use the Gather, Broadcast, Reduce
// and Scatter that OpenMPI selects for the size; the versions here are the direct ones.
//
// They run in place with one chunk per slice and `channels` instances (parallelize). Rank 0 adds in
// descending order of ranks, as OpenMPI does.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

Program linear(const AlgorithmRequest& request) {
  const int n = request.ranks;
  const bool gathers = request.collective == CollectiveKind::AllGather;
  const bool scatters = request.collective == CollectiveKind::ReduceScatter;
  ProgramBuilder p("linear", Contract::make(request.collective, n, 1, true));
  const auto parallel = p.parallelize(request.channels);
  const Buffer buffer = gathers ? Buffer::Output : Buffer::Input;
  const int all = gathers || scatters ? n : 1;
  for (int rank = n - 1; rank > 0; --rank) {
    if (gathers) {
      (void)p.chunk(rank, buffer, rank).copy(0, buffer, rank);
    } else {
      (void)p.chunk(0, buffer, 0, all).reduce(p.chunk(rank, buffer, 0, all));
    }
  }
  for (int rank = 1; rank < n; ++rank) {
    const int first = scatters ? rank : 0;
    (void)p.chunk(0, buffer, first, scatters ? 1 : all).copy(rank, buffer, first);
  }
  return p.finish();
}

// Rank 0 receives from all others and sends to all others.
std::int64_t linear_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * 2 * (request.ranks - 1);
}

}  // namespace

AlgorithmEntry linear_entry() {
  return {.name = "linear",
          .description =
              "all data goes directly to rank 0, and from there directly to its destinations",
          .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                          CollectiveKind::ReduceScatter},
          .trace = linear,
          .thread_blocks = linear_blocks};
}

}  // namespace cclgym::algorithms
