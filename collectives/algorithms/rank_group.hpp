// A subset of the ranks that carries out a collective, and the chunks that it moves. Internal to
// the algorithms.
#pragma once

#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// `count` ranks, `stride` apart; places wrap around.
struct RankGroup {
  int first;
  int count;
  int stride;
  int operator[](int place) const { return first + place % count * stride; }
};

/// One run of chunks for each place of a group, in the same positions of every rank's buffer: run r
/// is the `count` chunks from `offset` + r * `step` on.
struct Runs {
  Buffer buffer;
  int offset;
  int step;
  int count;
  /// True if a message may move several runs, which are then adjacent (step == count).
  bool joined = true;
  [[nodiscard]] int first(int run) const { return offset + run * step; }
};

/// Adjacent runs of an input buffer.
inline Runs input_runs(int offset, int count) { return {Buffer::Input, offset, count, count}; }

/// Calls visit(first chunk, chunks) for each message that moves a part of `length` runs from `run`
/// on.
template <class Visit>
void for_each_part(const Runs& runs, int run, int length, const Visit& visit) {
  if (runs.joined) return visit(runs.first(run), length * runs.count);
  for (int i = 0; i < length; ++i) visit(runs.first(run + i), runs.count);
}

}  // namespace cclgym::algorithms
