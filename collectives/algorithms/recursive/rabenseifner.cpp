// Rabenseifner's AllReduce and Reduce as in OpenMPI (4.1, ompi/mca/coll/base/coll_base_allreduce.c:
// redscat_allgather; coll_base_reduce.c: redscat_gather), and its butterfly ReduceScatter
// (coll_base_reduce_scatter.c). The number of ranks is a power of two.
//
// All begin with a ReduceScatter whose partners are at distance 1, 2, 4, … and exchange halves of
// the window that they still reduce; a rank ends with the slice whose number is its own with the
// bits reversed. AllReduce then runs the same steps backwards, Reduce gathers along the binomial
// tree of these partners, and ReduceScatter sends each slice to its owner.
//
// They run in place with one chunk per rank and `channels` instances (parallelize).
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// Window that a rank reduces after some number of steps: the half of its previous window that its
/// bit selects.
struct Window {
  int first;
  int count;
};
Window window_of(int rank, int steps, int ranks) {
  Window window{0, ranks};
  for (int step = 0; step < steps; ++step) {
    window.count /= 2;
    if (((rank >> step) & 1) != 0) window.first += window.count;
  }
  return window;
}

int steps_of(int ranks) {
  int steps = 0;
  while ((1 << steps) < ranks) ++steps;
  return steps;
}

void reduce_scatter(ProgramBuilder& p, int ranks) {
  for (int step = 0; step < steps_of(ranks); ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto [first, count] = window_of(rank, step + 1, ranks);
      const ChunkRef theirs = p.chunk(rank ^ (1 << step), Buffer::Input, first, count);
      (void)p.chunk(rank, Buffer::Input, first, count).reduce(theirs);
    }
  }
}

/// Copies the window that the rank has after `step` + 1 steps to its partner in that step.
void hand_back(ProgramBuilder& p, int rank, int step, int ranks) {
  const auto [first, count] = window_of(rank, step + 1, ranks);
  (void)p.chunk(rank, Buffer::Input, first, count).copy(rank ^ (1 << step), Buffer::Input, first);
}

Program rabenseifner(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("rabenseifner", Contract::make(request.collective, n, n, true, request.root));
  const auto parallel = p.parallelize(request.channels);
  reduce_scatter(p, n);
  for (int step = steps_of(n) - 1; step >= 0; --step) {
    for (int rank = 0; rank < n; ++rank) {
      // In Reduce, a rank sends only if it has the slices missing on the root's side of this step.
      const int apart = rank ^ request.root;
      if (request.collective == CollectiveKind::Reduce && apart >> step != 1) continue;
      hand_back(p, rank, step, n);
    }
  }
  return p.finish();
}

Program butterfly(const AlgorithmRequest& request) {
  const int n = request.ranks;
  ProgramBuilder p("butterfly", Contract::make(request.collective, n, 1, true));
  const auto parallel = p.parallelize(request.channels);
  reduce_scatter(p, n);
  for (int rank = 0; rank < n; ++rank) {
    const int owner = window_of(rank, steps_of(n), n).first;
    if (owner != rank) (void)p.chunk(rank, Buffer::Input, owner).copy(owner, Buffer::Input, owner);
  }
  return p.finish();
}

// Blocks of doubling_blocks, and blocks to and from the owners of slices.
std::int64_t butterfly_blocks(const AlgorithmRequest& request) {
  return doubling_blocks(request) + std::int64_t{request.channels} * 2;
}

}  // namespace

AlgorithmEntry rabenseifner_entry() {
  return {.name = "rabenseifner",
          .description =
              "halving-doubling with distances in reverse order: the largest messages go to the "
              "nearest ranks",
          .collectives = {CollectiveKind::AllReduce, CollectiveKind::Reduce},
          .ranks = RankRule::power_of_two(),
          .trace = rabenseifner,
          .thread_blocks = doubling_blocks};
}

AlgorithmEntry butterfly_entry() {
  return {
      .name = "butterfly",
      .description = "exchange of halves at distance 1, 2, 4, …; then each slice goes to its owner",
      .collectives = {CollectiveKind::ReduceScatter},
      .ranks = RankRule::power_of_two(),
      .trace = butterfly,
      .thread_blocks = butterfly_blocks};
}

}  // namespace cclgym::algorithms
