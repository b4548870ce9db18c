// Fifth pass: each operation becomes one instruction (local) or a send and a receive (remote),
// which may be fused with the receive or send of another operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/fuse.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

struct InstructionNode {
  Opcode opcode = Opcode::Nop;
  std::int32_t rank = 0;
  std::int32_t send_peer = -1;  ///< -1: sends nothing
  std::int32_t recv_peer = -1;  ///< -1: receives nothing
  std::int32_t channel = 0;
  std::int32_t kernel = 0;
  BufferSlice source;
  BufferSlice target;
  std::int32_t count = 1;
  std::int32_t group = kNoGroup;
  std::int32_t answers = kNoGroup;

  [[nodiscard]] bool local() const { return send_peer == -1 && recv_peer == -1; }
};

/// "This instruction must wait for `instruction`" of the same rank.
struct InstructionEdge {
  std::int32_t instruction = 0;
  DependenceKind kind = DependenceKind::True;
};

/// The instructions of all ranks in one *global order*: by kernel, then by level; within a level
/// fused instructions (with the level of their send), sends, local instructions, receives; then by
/// trace order. Every edge, and every message from its send to its receive, leads from a lower to a
/// higher instruction: dependencies lie at lower levels, and a receive follows its send within one
/// level, or at the beginning of the next.
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
                                               const Schedule& schedule, const Fusion& fusion);

}  // namespace cclgym
