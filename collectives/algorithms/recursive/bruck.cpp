// Bruck's AllGather and AllToAll (Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 1997) as in
// OpenMPI (4.1, ompi/mca/coll/base/coll_base_allgather.c, coll_base_alltoall.c: bruck). Any number
// n >= 2 of ranks takes ceil(log2 n) steps, with one chunk per slice and `channels` instances
// (parallelize).
//
// AllGather runs in place: a rank holds consecutive slices starting with its own, and in step k
// receives as many from the rank 2^k further on; at the end they are put in rank order. AllToAll
// runs out of place: data for the rank i further on moves 2^k ranks in step k if bit k of i is set,
// as one message for all such i, packed by local copies. (OpenMPI copies the received data once
// more, to its previous place.)
#include <numeric>
#include <utility>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/bruck_phases.hpp"

namespace cclgym::algorithms {

namespace {

/// Copies a circular input of `whole` chunks to scratch, starting with chunk `first`.
void turn(ProgramBuilder& p, int rank, int whole, int first) {
  (void)p.chunk(rank, Buffer::Input, first, whole - first).copy(rank, Buffer::Scratch, 0);
  if (first > 0) {
    (void)p.chunk(rank, Buffer::Input, 0, first).copy(rank, Buffer::Scratch, whole - first);
  }
}

/// Positions in scratch of the chunks that travel 0, 1, … ranks; the same on every rank.
class Places {
 public:
  explicit Places(int ranks) : at_(static_cast<std::size_t>(ranks)), used_(ranks) {
    std::iota(at_.begin(), at_.end(), 0);
  }
  [[nodiscard]] int of(int onwards) const { return at_[static_cast<std::size_t>(onwards)]; }
  /// First of `count` free places.
  [[nodiscard]] int take(int count) { return std::exchange(used_, used_ + count); }
  /// Records that the chunks now lie consecutively from `first` on.
  void move(const std::vector<int>& group, int first) {
    for (const int onwards : group) at_[static_cast<std::size_t>(onwards)] = first++;
  }

 private:
  std::vector<int> at_;
  int used_;
};

/// Copies the group to consecutive places from `first` on, run by run.
void pack(ProgramBuilder& p, int rank, const std::vector<int>& group, const Places& places,
          int first) {
  for (std::size_t i = 0; i < group.size();) {
    std::size_t end = i + 1;
    while (end < group.size() && places.of(group[end]) == places.of(group[end - 1]) + 1) ++end;
    (void)p.chunk(rank, Buffer::Scratch, places.of(group[i]), static_cast<int>(end - i))
        .copy(rank, Buffer::Scratch, first + static_cast<int>(i));
    i = end;
  }
}

void all_to_all(ProgramBuilder& p, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    turn(p, rank, ranks, rank);
  }
  Places places(ranks);
  for (int distance = 1; distance < ranks; distance *= 2) {
    std::vector<int> group;
    for (int onwards = distance; onwards < ranks; ++onwards) {
      if ((onwards & distance) != 0) group.push_back(onwards);
    }
    const auto count = static_cast<int>(group.size());
    const int packed = places.take(count);
    const int received = places.take(count);
    for (int rank = 0; rank < ranks; ++rank) pack(p, rank, group, places, packed);
    for (int rank = 0; rank < ranks; ++rank) {
      (void)p.chunk(rank, Buffer::Scratch, packed, count)
          .copy((rank + distance) % ranks, Buffer::Scratch, received);
    }
    places.move(group, received);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int onwards = 0; onwards < ranks; ++onwards) {
      (void)p.chunk(rank, Buffer::Scratch, places.of(onwards))
          .copy(rank, Buffer::Output, (rank - onwards + ranks) % ranks);
    }
  }
}

Program bruck(const AlgorithmRequest& request) {
  const bool gathers = request.collective == CollectiveKind::AllGather;
  ProgramBuilder p("bruck", Contract::make(request.collective, request.ranks, 1, gathers));
  const auto parallel = p.parallelize(request.channels);
  if (gathers) {
    bruck_all_gather(p, {0, request.ranks, 1}, {Buffer::Output, 0, 1, 1}, 0);
  } else {
    all_to_all(p, request.ranks);
  }
  return p.finish();
}

// Blocks to and from a rank in each step, and one block inside the GPU.
std::int64_t bruck_blocks(const AlgorithmRequest& request) {
  return pat_blocks(request) + request.channels;
}

}  // namespace

AlgorithmEntry bruck_entry() {
  return {.name = "bruck",
          .description =
              "Bruck's algorithm: messages at distance 1, 2, 4, … between local copies; "
              "log2(ranks) steps",
          .collectives = {CollectiveKind::AllGather, CollectiveKind::AllToAll},
          .memory = {{CollectiveKind::AllToAll, 400}},
          .trace = bruck,
          .thread_blocks = bruck_blocks};
}

}  // namespace cclgym::algorithms
