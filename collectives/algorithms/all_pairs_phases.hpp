// The two phases of All-Pairs on a group of ranks, in place. Internal to the algorithms.
#pragma once

#include "collectives/algorithms/rank_group.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// Sums run r of all ranks at group[r], which gathers them in its scratch from chunk `scratch` on.
inline ChunkRef collect_run(ProgramBuilder& p, const RankGroup& group, const Runs& runs, int r,
                            int scratch, OperationOptions options = {}) {
  const auto place = [&](int i) { return scratch + (i - 1) * runs.count; };
  for (int i = 1; i < group.count; ++i) {
    (void)p.chunk(group[r + i], runs.buffer, runs.first(r), runs.count)
        .copy(group[r], Buffer::Scratch, place(i), options);
  }
  ChunkRef sum = p.chunk(group[r], runs.buffer, runs.first(r), runs.count);
  for (int i = 1; i < group.count; ++i) {
    sum = sum.reduce(p.chunk(group[r], Buffer::Scratch, place(i), runs.count), options);
  }
  return sum;
}

/// Sums run r of all ranks at group[r], which adds each message when it arrives.
inline void add_run(ProgramBuilder& p, const RankGroup& group, const Runs& runs, int r,
                    OperationOptions options = {}) {
  ChunkRef sum = p.chunk(group[r], runs.buffer, runs.first(r), runs.count);
  for (int i = 1; i < group.count; ++i) {
    sum = sum.reduce(p.chunk(group[r + i], runs.buffer, runs.first(r), runs.count), options);
  }
}

/// Copies run r from group[r] to all others.
inline void spread_run(ProgramBuilder& p, const RankGroup& group, const Runs& runs, int r,
                       OperationOptions options = {}) {
  const ChunkRef run = p.chunk(group[r], runs.buffer, runs.first(r), runs.count);
  for (int i = 1; i < group.count; ++i) {
    (void)run.copy(group[r + i], runs.buffer, runs.first(r), options);
  }
}

}  // namespace cclgym::algorithms
