// Bruck's AllGather and its reverse, a ReduceScatter, on a group of n ranks: ceil(log2 n) steps.
// Internal to the algorithms.
//
// AllGather: a rank holds consecutive runs in its scratch, starting with its own, and in step k
// receives as many from the rank 2^k further on; at the end they are put in order. ReduceScatter
// begins with the runs in that order, starting with the rank's own, and runs the steps backwards:
// what AllGather receives is sent back and added.
#pragma once

#include <algorithm>

#include "collectives/algorithms/rank_group.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// The runs of a group in the scratch of the rank at one place, starting with its own.
struct TurnedRuns {
  ProgramBuilder& p;
  const RankGroup& group;
  const Runs& runs;
  int scratch;  ///< first chunk

  [[nodiscard]] int position(int onwards) const { return scratch + onwards * runs.count; }
  /// Calls copy(position in scratch, first chunk, chunks) for the runs from `onwards` on of a place
  /// that are not its own.
  template <class Copy>
  void for_each(int place, const Copy& copy) const {
    const int left = group.count - place;  // runs up to the end of the buffer
    const auto part = [&](int onwards, int run, int length) {
      int position_now = position(onwards);
      for_each_part(runs, run, length, [&](int index, int count) {
        copy(position_now, index, count);
        position_now += count;
      });
    };
    if (left > 1) part(1, place + 1, left - 1);
    if (place > 0) part(left, 0, place);
  }
};

/// `local`: options of the copies inside a rank.
inline void bruck_all_gather(ProgramBuilder& p, const RankGroup& group, const Runs& runs,
                             int scratch, OperationOptions options = {},
                             OperationOptions local = {}) {
  const TurnedRuns turned{p, group, runs, scratch};
  for (int place = 0; place < group.count; ++place) {
    (void)p.chunk(group[place], runs.buffer, runs.first(place), runs.count)
        .copy(group[place], Buffer::Scratch, scratch, local);
  }
  for (int distance = 1; distance < group.count; distance *= 2) {
    const int count = std::min(distance, group.count - distance) * runs.count;
    for (int place = 0; place < group.count; ++place) {
      (void)p.chunk(group[place], Buffer::Scratch, scratch, count)
          .copy(group[place - distance + group.count], Buffer::Scratch, turned.position(distance),
                options);
    }
  }
  for (int place = 0; place < group.count; ++place) {
    turned.for_each(place, [&](int position, int index, int count) {
      (void)p.chunk(group[place], Buffer::Scratch, position, count)
          .copy(group[place], runs.buffer, index, local);
    });
  }
}

inline void bruck_reduce_scatter(ProgramBuilder& p, const RankGroup& group, const Runs& runs,
                                 int scratch, OperationOptions options = {},
                                 OperationOptions local = {}) {
  const TurnedRuns turned{p, group, runs, scratch};
  for (int place = 0; place < group.count; ++place) {
    (void)p.chunk(group[place], runs.buffer, runs.first(place), runs.count)
        .copy(group[place], Buffer::Scratch, scratch, local);
    turned.for_each(place, [&](int position, int index, int count) {
      (void)p.chunk(group[place], runs.buffer, index, count)
          .copy(group[place], Buffer::Scratch, position, local);
    });
  }
  int farthest = 1;
  while (2 * farthest < group.count) farthest *= 2;
  for (int distance = farthest; distance >= 1; distance /= 2) {
    const int count = std::min(distance, group.count - distance) * runs.count;
    for (int place = 0; place < group.count; ++place) {
      const ChunkRef back =
          p.chunk(group[place], Buffer::Scratch, turned.position(distance), count);
      (void)p.chunk(group[place + distance], Buffer::Scratch, scratch, count).reduce(back, options);
    }
  }
  for (int place = 0; place < group.count; ++place) {
    (void)p.chunk(group[place], Buffer::Scratch, scratch, runs.count)
        .copy(group[place], runs.buffer, runs.first(place), local);
  }
}

}  // namespace cclgym::algorithms
