#include "collectives/compiler/instruction_dag.hpp"

#include <algorithm>

namespace cclgym {

namespace {

BufferSlice slice(const Location& location) { return {location.buffer, location.index}; }

InstructionNode send_node(const Operation& operation) {
  return {.opcode = Opcode::Send,
          .rank = operation.source.rank,
          .send_peer = operation.target.rank,
          .channel = operation.channel,
          .kernel = operation.kernel,
          .source = slice(operation.source),
          .target = {},
          .count = operation.count,
          .group = operation.group,
          .answers = operation.answers};
}

InstructionNode local_node(const Operation& operation) {
  const Opcode copy = operation.device ? Opcode::DeviceCopy : Opcode::Copy;
  return {.opcode = operation.kind == OperationKind::Copy ? copy : Opcode::Reduce,
          .rank = operation.target.rank,
          .channel = operation.channel,
          .kernel = operation.kernel,
          .source = slice(operation.source),
          .target = slice(operation.target),
          .count = operation.count};
}

InstructionNode receive_node(const Operation& operation) {
  const bool reduce = operation.kind == OperationKind::Reduce;
  return {.opcode = reduce ? Opcode::RecvReduceCopy : Opcode::Recv,
          .rank = operation.target.rank,
          .recv_peer = operation.source.rank,
          .channel = operation.channel,
          .kernel = operation.kernel,
          .source = reduce ? slice(operation.target) : BufferSlice{},
          .target = slice(operation.target),
          .count = operation.count,
          .group = operation.group,
          .answers = operation.answers};
}

/// The receive of one operation fused with the send of another; `stored`: the result is kept.
InstructionNode fused_node(const Operation& received, const Operation& sent, bool stored) {
  InstructionNode node = receive_node(received);
  node.send_peer = sent.target.rank;
  if (node.opcode == Opcode::Recv) {
    node.opcode = Opcode::RecvCopySend;
  } else if (stored) {
    node.opcode = Opcode::RecvReduceCopySend;
  } else {
    node.opcode = Opcode::RecvReduceSend;
    node.target = {};
  }
  return node;
}

/// The instructions of an operation, one on each rank; a local operation has only one.
struct Instructions {
  std::int32_t at_source = -1;
  std::int32_t at_target = -1;
};

}  // namespace

InstructionDag make_instructions(const Program& program, const ChunkDag& chunk_dag,
                                 const Schedule& schedule, const Fusion& fusion) {
  const auto& operations = program.operations;
  const auto remote = static_cast<std::size_t>(
      std::count_if(operations.begin(), operations.end(),
                    [](const Operation& operation) { return operation.remote(); }));
  InstructionDag dag;
  dag.nodes.reserve(operations.size() + remote);
  dag.first.reserve(operations.size() + remote + 1);
  dag.first.push_back(0);
  dag.edges.reserve(chunk_dag.edges.size());
  std::vector<Instructions> made(operations.size());

  // Edges of an operation's end become edges of the instruction on that end's rank. Both operations
  // touch a place of that rank, which identifies the predecessor's instruction.
  const auto begin_node = [&](const InstructionNode& node) {
    dag.nodes.push_back(node);
    return static_cast<std::int32_t>(dag.nodes.size()) - 1;
  };
  const auto add_edges = [&](std::size_t i, int rank, bool source, bool target) {
    for (const ChunkEdge& edge : chunk_dag.predecessors(i)) {
      if (edge.end == OperationEnd::Source ? !source : !target) continue;
      const auto j = static_cast<std::size_t>(edge.operation);
      const bool at_source = operations[j].source.rank == rank;
      dag.edges.push_back({at_source ? made[j].at_source : made[j].at_target, edge.kind});
    }
  };
  const auto add = [&](std::size_t i, const InstructionNode& node, bool source, bool target) {
    const std::int32_t number = begin_node(node);
    if (source) made[i].at_source = number;
    if (target) made[i].at_target = number;
    add_edges(i, node.rank, source, target);
    dag.first.push_back(dag.edges.size());
  };
  const auto add_fused = [&](std::size_t received, std::size_t sent) {
    const InstructionNode node =
        fused_node(operations[received], operations[sent], fusion.stored[received]);
    const std::int32_t number = begin_node(node);
    made[received].at_target = number;
    made[sent].at_source = number;
    add_edges(received, node.rank, false, true);  // the send waits for nothing else
    dag.first.push_back(dag.edges.size());
  };

  const auto& order = schedule.order;
  const auto operation_at = [&](std::size_t k) { return static_cast<std::size_t>(order[k]); };
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::int32_t level = schedule.level[operation_at(begin)];
    while (end < order.size() && schedule.level[operation_at(end)] == level) ++end;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      const std::int32_t received = fusion.received_from[i];
      if (received != Fusion::kNone) add_fused(static_cast<std::size_t>(received), i);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (!operations[i].remote() || fusion.received_from[i] != Fusion::kNone) continue;
      add(i, send_node(operations[i]), true, false);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (!operations[i].remote()) add(i, local_node(operations[i]), true, true);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (!operations[i].remote() || fusion.sent_by[i] != Fusion::kNone) continue;
      add(i, receive_node(operations[i]), false, true);
    }
  }
  return dag;
}

}  // namespace cclgym
