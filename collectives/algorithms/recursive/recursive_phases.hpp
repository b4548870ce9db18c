// The two phases of recursive doubling and halving: partners at power-of-two distances (Thakur,
// Rabenseifner and Gropp, IJHPCA 2005). A power-of-two number n of ranks takes log2 n steps.
// Internal to the algorithms.
//
// A run of slices that a step exchanges is cut into `channels` equal parts, so that every channel
// sends one message per step: size / n, 2 size / n, … size / 2 bytes over all channels together in
// doubling, in the reverse order in halving.
#pragma once

#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// First slice of the run of `length` slices (a power of two) that contains `slice`.
inline int run_of(int slice, int length) { return slice - slice % length; }

/// Each rank adds its partner's half of their run to its own, until it has the sum of its slice.
inline void halve(ProgramBuilder& p, int ranks, int channels) {
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

/// Each rank copies its run to its partner, which has the adjacent run. Ranks are counted from
/// `root`.
inline void double_up(ProgramBuilder& p, Buffer buffer, int ranks, int channels, int root = 0) {
  for (int length = 1; length < ranks; length *= 2) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int channel = 0; channel < channels; ++channel) {
        const int index = run_of(rank, length) * channels + channel * length;
        (void)p.chunk((rank + root) % ranks, buffer, index, length)
            .copy(((rank ^ length) + root) % ranks, buffer, index, {.channel = channel});
      }
    }
  }
}

}  // namespace cclgym::algorithms
