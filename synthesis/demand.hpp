// Demand of a collective: where each chunk starts, and which ranks must hold it at the end.
#pragma once

#include <vector>

#include "collectives/contract.hpp"

namespace cclgym::synthesis {

/// One chunk of a copying collective (SCCL, Table 1: pre- and postcondition).
struct ChunkDemand {
  int source = 0;              ///< rank that holds the chunk at the start
  std::vector<int> targets{};  ///< ranks that must hold it at the end, ascending, without `source`
  friend bool operator==(const ChunkDemand&, const ChunkDemand&) = default;
};

/// Chunks of a collective over `ranks` ranks. Chunks that have equal ChunkDemands are
/// interchangeable.
struct Demand {
  int ranks = 0;
  std::vector<ChunkDemand> chunks{};

  /// Number of (chunk, rank) pairs that must be delivered.
  [[nodiscard]] int deliveries() const;
};

/// Demand of a collective in which each rank contributes `chunks` chunks: AllGather, Gather: per
/// rank; Broadcast: of the root; Scatter, AllToAll: per pair of ranks. Chunks are ordered by
/// (source, target, number). `group` lists the participating ranks, ascending; empty: all. The root
/// must be one of them.
///
/// Throws UserError for a reduction (synthesise its inverse: inverse_collective), AllToNext and
/// Custom, for chunks < 1, fewer than two ranks, or ranks out of range.
[[nodiscard]] Demand make_demand(CollectiveKind collective, int ranks, int chunks, int root = 0,
                                 const std::vector<int>& group = {});

/// The copying collective whose schedules, reversed in time and direction, carry out a reduction:
/// ReduceScatter -> AllGather, Reduce -> Broadcast (SCCL, section 3.5). A collective that copies is
/// its own. Throws UserError for AllReduce (ReduceScatter, then AllGather), AllToNext and Custom.
[[nodiscard]] CollectiveKind inverse_collective(CollectiveKind collective);

/// Number of chunks per rank in SCCL's notation (C, S, R), where AllToAll, Scatter and AllReduce
/// count all chunks of a rank's buffer: chunks per rank or pair times this.
[[nodiscard]] int sccl_chunk_factor(CollectiveKind collective, int ranks);

}  // namespace cclgym::synthesis
