// Recursive doubling and halving: partners at distances that are powers of two (Thakur,
// Rabenseifner and Gropp, IJHPCA 2005). Power-of-two ranks, log2 n steps a phase.
//
// In place. Where a step exchanges a run of slices, the run is cut into `channels` equal parts, so
// that every channel sends one message a step:
//   recursive-doubling AllReduce: the whole vector, size / channels bytes a step and channel;
//   recursive-doubling AllGather, recursive-halving ReduceScatter: size / n, 2 size / n, … size / 2
//   bytes in all channels together; halving-doubling AllReduce: the one after the other.
#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// First slice of the run of `length` (a power of two) slices that holds `slice`.
int run_of(int slice, int length) { return slice - slice % length; }

/// Each rank adds its partner's half of their run to its own, until it has the sum of its slice.
void halve(ProgramBuilder& p, int ranks, int channels) {
  for (int length = ranks / 2; length >= 1; length /= 2) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int channel = 0; channel < channels; ++channel) {
        const int index = run_of(rank, length) * channels + channel * length;
        const ChunkRef theirs = p.chunk(rank ^ length, Buffer::Input, index, length);
        (void)p.chunk(rank, Buffer::Input, index, length).reduce(theirs, {.channel = channel});
      }
    }
  }
}

/// Each rank copies the run it has to its partner, which has the run next to it.
void double_up(ProgramBuilder& p, Buffer buffer, int ranks, int channels) {
  for (int length = 1; length < ranks; length *= 2) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int channel = 0; channel < channels; ++channel) {
        const int index = run_of(rank, length) * channels + channel * length;
        (void)p.chunk(rank, buffer, index, length)
            .copy(rank ^ length, buffer, index, {.channel = channel});
      }
    }
  }
}

/// Partners swap whole vectors. Both read the old sum of the other, so it goes through scratch; a
/// part of the scratch for each step keeps one step from waiting for the places of the last.
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

}  // namespace

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

Program recursive_halving(const AlgorithmRequest& request) {
  ProgramBuilder p("recursive-halving", Contract::make(CollectiveKind::ReduceScatter, request.ranks,
                                                       request.channels, true));
  halve(p, request.ranks, request.channels);
  return p.finish();
}

Program halving_doubling(const AlgorithmRequest& request) {
  ProgramBuilder p("halving-doubling", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                                      request.ranks * request.channels, true));
  halve(p, request.ranks, request.channels);
  double_up(p, Buffer::Input, request.ranks, request.channels);
  return p.finish();
}

}  // namespace cclgym::algorithms
