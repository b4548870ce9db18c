// Third pass: each operation becomes one instruction (local) or a send and a receive (remote).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

struct InstructionNode {
  Opcode opcode = Opcode::Nop;
  std::int32_t rank = 0;
  std::int32_t peer = -1;  ///< of the message sent or received; -1: local
  std::int32_t channel = 0;
  BufferSlice source;
  BufferSlice target;
  std::int32_t count = 1;
};

/// "This instruction must wait for `instruction`" of the same rank.
struct InstructionEdge {
  std::int32_t instruction = 0;
  DependenceKind kind = DependenceKind::True;
};

/// The instructions of all ranks in one *global order*: by level; within a level first what sends,
/// then what is local, then what receives; then by trace order. Every edge, and every message from
/// its send to its receive, leads from a lower to a higher instruction: dependencies lie at lower
/// levels, and a receive comes after its send within one level.
struct InstructionDag {
  std::vector<InstructionNode> nodes;
  std::vector<std::size_t> first;  ///< row of node i: edges [first[i], first[i + 1])
  std::vector<InstructionEdge> edges;

  [[nodiscard]] std::span<const InstructionEdge> predecessors(std::size_t node) const {
    return {edges.data() + first[node], first[node + 1] - first[node]};
  }
};

/// Cost: linear.
[[nodiscard]] InstructionDag make_instructions(const Program& program, const ChunkDag& dag,
                                               const Schedule& schedule);

}  // namespace cclgym
