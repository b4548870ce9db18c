#include "collectives/compiler/instruction_dag.hpp"

#include <algorithm>

namespace cclgym {

namespace {

BufferSlice slice(const Location& location) { return {location.buffer, location.index}; }

InstructionNode send_node(const Operation& operation) {
  return {Opcode::Send,      operation.source.rank,   operation.target.rank,
          operation.channel, slice(operation.source), {},
          operation.count};
}

InstructionNode local_node(const Operation& operation) {
  return {operation.kind == OperationKind::Copy ? Opcode::Copy : Opcode::Reduce,
          operation.target.rank,
          -1,
          operation.channel,
          slice(operation.source),
          slice(operation.target),
          operation.count};
}

InstructionNode receive_node(const Operation& operation) {
  const bool reduce = operation.kind == OperationKind::Reduce;
  return {reduce ? Opcode::RecvReduceCopy : Opcode::Recv,
          operation.target.rank,
          operation.source.rank,
          operation.channel,
          reduce ? slice(operation.target) : BufferSlice{},
          slice(operation.target),
          operation.count};
}

/// The one or two instructions of an operation; equal for a local one.
struct Instructions {
  std::int32_t at_source = -1;
  std::int32_t at_target = -1;
};

}  // namespace

InstructionDag make_instructions(const Program& program, const ChunkDag& chunk_dag,
                                 const Schedule& schedule) {
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
  // touch a place of that rank, which says which instruction of the predecessor is meant.
  const auto add = [&](std::size_t i, const InstructionNode& node, bool source, bool target) {
    const auto number = static_cast<std::int32_t>(dag.nodes.size());
    dag.nodes.push_back(node);
    if (source) made[i].at_source = number;
    if (target) made[i].at_target = number;
    for (const ChunkEdge& edge : chunk_dag.predecessors(i)) {
      if (edge.end == OperationEnd::Source ? !source : !target) continue;
      const auto j = static_cast<std::size_t>(edge.operation);
      const bool at_source = operations[j].source.rank == node.rank;
      dag.edges.push_back({at_source ? made[j].at_source : made[j].at_target, edge.kind});
    }
    dag.first.push_back(dag.edges.size());
  };

  const auto& order = schedule.order;
  const auto operation_at = [&](std::size_t k) { return static_cast<std::size_t>(order[k]); };
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::int32_t level = schedule.level[operation_at(begin)];
    while (end < order.size() && schedule.level[operation_at(end)] == level) ++end;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (operations[i].remote()) add(i, send_node(operations[i]), true, false);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (!operations[i].remote()) add(i, local_node(operations[i]), true, true);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = operation_at(k);
      if (operations[i].remote()) add(i, receive_node(operations[i]), false, true);
    }
  }
  return dag;
}

}  // namespace cclgym
