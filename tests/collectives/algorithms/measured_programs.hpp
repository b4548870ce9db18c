// Programs of msccl-tools' examples that the library has no algorithm for, because they implement a
// custom collective or leave the channels to the compiler. Written for size_test.cpp.
#pragma once

#include <optional>
#include <vector>

#include "collectives/program.hpp"

namespace cclgym::test {

/// The sum over the first half of the ranks, at each rank of the second half: a pipeline stage of
/// `g` ranks passes its sum to the next stage. The data is cut into g chunks.
inline Contract stage_contract(int g) {
  const std::vector<int> chunks(static_cast<std::size_t>(2 * g), g);
  return Contract::custom("stage", 2 * g, chunks, chunks,
                          [g](int rank, int index) -> std::optional<RequiredValue> {
                            if (rank < g) return std::nullopt;
                            RequiredValue sum;
                            for (int from = 0; from < g; ++from) sum.push_back({from, index});
                            return sum;
                          });
}

/// All-pairs in each stage, and a send from every rank to its counterpart in between.
inline Program pipeline_all_pairs(int g) {
  ProgramBuilder p("pipeline-all-pairs", stage_contract(g));
  for (int r = 0; r < g; ++r) {
    for (int i = 1; i < g; ++i)
      (void)p.chunk((r + i) % g, Buffer::Input, r).copy(r, Buffer::Scratch, i - 1);
    ChunkRef c = p.chunk(r, Buffer::Input, r);
    for (int i = 1; i < g; ++i) c = c.reduce(p.chunk(r, Buffer::Scratch, i - 1));
    c = c.copy(g + r, Buffer::Output, r);
    for (int i = 1; i < g; ++i) (void)c.copy(g + (r + i) % g, Buffer::Output, r);
  }
  return p.finish();
}

/// A ring ReduceScatter in the first stage, sends to the counterparts, and a ring AllGather in the
/// second stage.
inline Program pipeline_ring(int g) {
  ProgramBuilder p("pipeline-ring", stage_contract(g));
  for (int r = 0; r < g; ++r) {
    ChunkRef c = p.chunk((r + 1) % g, Buffer::Input, r);
    for (int i = 2; i <= g; ++i)
      c = p.chunk((r + i) % g, Buffer::Input, r).reduce(c, {.channel = 0});
    for (int i = 0; i < g; ++i) c = c.copy(g + (r + i) % g, Buffer::Output, r, {.channel = 0});
  }
  return p.finish();
}

/// AllToNext in the other direction: rank r's buffer goes to rank r - 1. If that rank is on another
/// node (of `g` ranks), every rank of the node sends a chunk to the other node.
inline Program all_to_previous(int servers, int g) {
  const int ranks = servers * g;
  const std::vector<int> chunks(static_cast<std::size_t>(ranks), g);
  const auto post = [ranks](int rank, int index) -> std::optional<RequiredValue> {
    if (rank + 1 == ranks) return std::nullopt;
    return RequiredValue{{rank + 1, index}};
  };
  ProgramBuilder p("all-to-previous",
                   Contract::custom("alltoprevious", ranks, chunks, chunks, post));
  for (int rank = 1; rank < ranks; ++rank) {
    const ChunkRef whole = p.chunk(rank, Buffer::Input, 0, g);
    if (rank % g != 0) (void)whole.copy(rank - 1, Buffer::Output, 0);
    for (int i = 0; rank % g == 0 && i < g; ++i) {
      ChunkRef c = p.chunk(rank, Buffer::Input, i);
      if (i != 0) c = c.copy(rank + i, Buffer::Scratch, 0);
      if (i != g - 1) c = c.copy(rank - g + i, Buffer::Scratch, 1);
      (void)c.copy(rank - 1, Buffer::Output, i);
    }
  }
  return p.finish();
}

/// Hierarchical AllReduce whose rings within the nodes pass on single chunks instead of runs, so
/// that the compiler, which chooses the channels, can fuse across phases.
inline Program hierarchical_by_chunks(int servers, int g) {
  const int ranks = servers * g;
  ProgramBuilder p("hierarchical-by-chunks",
                   Contract::make(CollectiveKind::AllReduce, ranks, ranks, true));
  const auto reduce_scatter = [&p](int first, int count, int stride, int index, int by) {
    for (int r = 0; r < count; ++r) {
      ChunkRef c = p.chunk(first + (r + 1) % count * stride, Buffer::Input, index + r * by);
      for (int i = 2; i <= count; ++i)
        c = p.chunk(first + (r + i) % count * stride, Buffer::Input, c.index()).reduce(c);
    }
  };
  const auto all_gather = [&p](int first, int count, int stride, int index, int by) {
    for (int r = 0; r < count; ++r) {
      ChunkRef c = p.chunk(first + r * stride, Buffer::Input, index + r * by);
      for (int i = 1; i < count; ++i)
        c = c.copy(first + (r + i) % count * stride, Buffer::Input, c.index());
    }
  };
  for (int k = 0; k < servers * servers; ++k)
    reduce_scatter(k / servers * g, g, 1, k % servers, servers);
  for (int gpu = 0; gpu < g; ++gpu) reduce_scatter(gpu, servers, g, gpu * servers, 1);
  for (int gpu = 0; gpu < g; ++gpu) all_gather(gpu, servers, g, gpu * servers, 1);
  for (int k = 0; k < servers * servers; ++k)
    all_gather(k / servers * g, g, 1, k % servers, servers);
  return p.finish();
}

}  // namespace cclgym::test
