// Recursive doubling (Thakur, Rabenseifner and Gropp, IJHPCA 2005): partners at distance 1, 2, 4, …
// exchange all their data. A power-of-two number n of ranks takes log2 n steps.
//
// It runs in place. AllReduce sends the entire vector, size / channels bytes per step and channel;
// AllGather sends size / n, 2 size / n, … size / 2 bytes over all channels together.
#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"

namespace cclgym::algorithms {

namespace {

/// Partners exchange entire vectors. Each reads the other's old sum, so the sum goes through
/// scratch. Each step has its own part of the scratch, so that it need not wait for the places of
/// the previous step.
void exchange_vectors(ProgramBuilder& p, int ranks, int channels) {
  int scratch = 0;
  for (int distance = 1; distance < ranks; distance *= 2, scratch += channels) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int channel = 0; channel < channels; ++channel) {
        (void)p.chunk(rank, Buffer::Input, channel)
            .copy(rank ^ distance, Buffer::Scratch, scratch + channel, {.channel = channel});
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      for (int channel = 0; channel < channels; ++channel) {
        const ChunkRef theirs = p.chunk(rank, Buffer::Scratch, scratch + channel);
        (void)p.chunk(rank, Buffer::Input, channel).reduce(theirs, {.channel = channel});
      }
    }
  }
}

Program recursive_doubling(const AlgorithmRequest& request) {
  ProgramBuilder p("recursive-doubling",
                   Contract::make(request.collective, request.ranks, request.channels, true));
  if (request.collective == CollectiveKind::AllReduce) {
    exchange_vectors(p, request.ranks, request.channels);
  } else {
    double_up(p, Buffer::Output, request.ranks, request.channels);
  }
  return p.finish();
}

}  // namespace

std::int64_t doubling_blocks(const AlgorithmRequest& request) {
  return std::int64_t{request.channels} * 2 *
         std::countr_zero(static_cast<unsigned>(request.ranks));
}

AlgorithmEntry recursive_doubling_entry() {
  return {
      .name = "recursive-doubling",
      .description = "partners at distance 1, 2, 4, … exchange all their data; log2(ranks) steps",
      .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather},
      .ranks = RankRule::power_of_two(),
      .trace = recursive_doubling,
      .thread_blocks = doubling_blocks};
}

}  // namespace cclgym::algorithms
