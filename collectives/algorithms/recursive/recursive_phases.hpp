// The two phases of recursive doubling and halving: partners at power-of-two distances (Thakur,
// Rabenseifner and Gropp, IJHPCA 2005). A power-of-two number n of ranks takes log2 n steps.
// Internal to the algorithms.
//
// A run of slices that a step exchanges is cut into `channels` equal parts, so that every channel
// sends one message per step: size / n, 2 size / n, … size / 2 bytes over all channels together in
// doubling, in the reverse order in halving.
#pragma once

#include "collectives/algorithms/rank_group.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// First slice of the run of `length` slices (a power of two) that contains `slice`.
inline int run_of(int slice, int length) { return slice - slice % length; }

/// Calls add(place, partner, first slice of the place's run, length of the run) for every message
/// from a partner, at distances ranks / 2, …, 2, 1.
template <class Add>
void for_each_halving(int ranks, const Add& add) {
  for (int length = ranks / 2; length >= 1; length /= 2) {
    for (int place = 0; place < ranks; ++place) {
      add(place, place ^ length, run_of(place, length), length);
    }
  }
}

/// Calls copy(place, partner, first slice of the place's run, length of the run) for every message
/// to a partner, at distances 1, 2, …, ranks / 2.
template <class Copy>
void for_each_doubling(int ranks, const Copy& copy) {
  for (int length = 1; length < ranks; length *= 2) {
    for (int place = 0; place < ranks; ++place) {
      copy(place, place ^ length, run_of(place, length), length);
    }
  }
}

/// Each rank adds its partner's half of their run to its own, until it has the sum of its slice.
inline void halve(ProgramBuilder& p, int ranks, int channels) {
  for_each_halving(ranks, [&](int rank, int partner, int first, int length) {
    for (int channel = 0; channel < channels; ++channel) {
      const int index = first * channels + channel * length;
      const ChunkRef theirs = p.chunk(partner, Buffer::Input, index, length);
      (void)p.chunk(rank, Buffer::Input, index, length).reduce(theirs, {.channel = channel});
    }
  });
}

/// Each rank copies its run to its partner, which has the adjacent run. Ranks are counted from
/// `root`.
inline void double_up(ProgramBuilder& p, Buffer buffer, int ranks, int channels, int root = 0) {
  for_each_doubling(ranks, [&](int rank, int partner, int first, int length) {
    for (int channel = 0; channel < channels; ++channel) {
      const int index = first * channels + channel * length;
      (void)p.chunk((rank + root) % ranks, buffer, index, length)
          .copy((partner + root) % ranks, buffer, index, {.channel = channel});
    }
  });
}

/// Recursive-halving ReduceScatter of a group, in place, on channel 0.
inline void group_halve(ProgramBuilder& p, const RankGroup& group, const Runs& runs) {
  for_each_halving(group.count, [&](int place, int partner, int first, int length) {
    for_each_part(runs, first, length, [&](int index, int count) {
      const ChunkRef theirs = p.chunk(group[partner], runs.buffer, index, count);
      (void)p.chunk(group[place], runs.buffer, index, count).reduce(theirs, {.channel = 0});
    });
  });
}

/// Recursive-doubling AllGather of a group, in place, on channel 0.
inline void group_double_up(ProgramBuilder& p, const RankGroup& group, const Runs& runs) {
  for_each_doubling(group.count, [&](int place, int partner, int first, int length) {
    for_each_part(runs, first, length, [&](int index, int count) {
      (void)p.chunk(group[place], runs.buffer, index, count)
          .copy(group[partner], runs.buffer, index, {.channel = 0});
    });
  });
}

}  // namespace cclgym::algorithms
