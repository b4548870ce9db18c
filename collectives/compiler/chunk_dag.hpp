// First pass: the order that operations must keep, and the reasons for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/program.hpp"

namespace cclgym {

enum class DependenceKind : std::uint8_t {
  True,   ///< read after write: the data flows along the edge
  Anti,   ///< write after read: only the place is reused
  Output  ///< write after write
};

/// End of an operation that an edge refers to. A local operation has both ends on one rank.
enum class OperationEnd : std::uint8_t { Source, Target };

/// "This operation must wait for `operation`", because both touch a place on the rank of the
/// waiting operation's `end`.
struct ChunkEdge {
  std::int32_t operation = 0;
  OperationEnd end = OperationEnd::Source;
  DependenceKind kind = DependenceKind::True;
};

/// The vertices are the operations; the edges are rows of predecessors, each lower than the vertex.
/// Edges that follow from others on the same rank (write after write with a read between) are left
/// out. So are edges between kernels, whose order needs no edge: operations of different kernels
/// are in different components.
struct ChunkDag {
  std::vector<std::size_t> first;  ///< row of operation i: edges [first[i], first[i + 1])
  std::vector<ChunkEdge> edges;

  [[nodiscard]] std::span<const ChunkEdge> predecessors(std::size_t operation) const {
    return {edges.data() + first[operation], first[operation + 1] - first[operation]};
  }
};

/// Cost: linear in the chunks that the operations touch.
[[nodiscard]] ChunkDag trace_dependencies(const Program& program);

}  // namespace cclgym
