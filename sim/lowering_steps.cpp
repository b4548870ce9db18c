// Lowering, steps: what stands for the completion of a step, and what a step waits for.
#include <algorithm>

#include "sim/lowering_internal.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

// What a step waits for in its own block, within a tile.
Completion Lowering::before(int rank, int block, int step) {
  if (step > 0) return completion_of(rank, block, step - 1);
  return {{start_of(rank, block_at(rank, block).kernel), -1}};
}

// Decides which nodes stand for the completion of a step, adding a node where one is needed.
void Lowering::complete(int rank, int block, int step) {
  const Instruction& instruction = step_at(rank, block, step);
  const std::size_t index = step_index(rank, block, step);
  if (sends(instruction.opcode)) {
    completions_[index] = {{own_node_[index], -1}};
    return;
  }
  const double cost_s = local_cost_s(model_, config_, program_->runtime, instruction.opcode,
                                     tile_bytes_ * instruction.count);
  if (cost_s == 0 && receives(instruction.opcode) && instruction.dependencies.empty() &&
      arrival_[index] >= 0 && (tiles_ == 1 || step > 0 || only_receives(rank, block))) {
    if (const auto merged = merge_receive(rank, block, step)) {
      completions_[index] = *merged;
      return;
    }
  }
  const TransferId node = add_local_node(cost_s, {rank, block, step});
  own_node_[index] = node;
  completions_[index] = {{node, -1}};
  // Taking a message out of the FIFO goes on while it arrives.
  if (takes_while_arriving(index, instruction.opcode))
    completions_[index].nodes[1] = arrival_[index];
}

bool Lowering::takes_while_arriving(std::size_t index, Opcode opcode) const {
  return receives(opcode) && !sends(opcode) && arrival_[index] >= 0 && own_node_[index] >= 0 &&
         graph_->latency_s(own_node_[index]) > 0;
}

// With tiles, a block's first step also waits for its last step of the tile before. In a block
// that only receives, the order of the flows says that already; elsewhere the first step needs a
// node.
bool Lowering::only_receives(int rank, int block) const {
  const std::vector<Instruction>& steps = block_at(rank, block).steps;
  return std::all_of(steps.begin(), steps.end(), [](const Instruction& step) {
    return step.opcode == Opcode::Recv && step.dependencies.empty();
  });
}

// "Flow arrived and previous step done" as at most two nodes, or nothing if it takes more.
std::optional<Completion> Lowering::merge_receive(int rank, int block, int step) {
  const TransferId flow = arrival_[step_index(rank, block, step)];
  Completion merged{{flow, -1}};
  const Completion previous = before(rank, block, step);
  for (int i = 0; i < previous.size(); ++i) {
    const TransferId node = previous.nodes[static_cast<std::size_t>(i)];
    if (implied_by(node, flow)) continue;
    // A launch is done once, not once a tile: a sender short of slots could not tell for which
    // tile it waits.
    if (tiles_ > 1 && config_.slots > 0 && is_launch(node)) return std::nullopt;
    if (merged.size() == 2) return std::nullopt;
    merged.nodes[1] = node;
  }
  return merged;
}

// An earlier flow of the same connection is done before this one starts, because the sending
// block runs its steps in order.
bool Lowering::implied_by(TransferId node, TransferId flow) const {
  const NodeOrigin& a = origins_[static_cast<std::size_t>(node)];
  const NodeOrigin& b = origins_[static_cast<std::size_t>(flow)];
  return a.peer_rank >= 0 && a.rank == b.rank && a.thread_block == b.thread_block &&
         a.step < b.step;
}

// The edges into the node that stands for a step, if it has one.
void Lowering::connect(int rank, int block, int step) {
  const std::size_t index = step_index(rank, block, step);
  const TransferId node = own_node_[index];
  if (node < 0) return;
  const Instruction& instruction = step_at(rank, block, step);
  std::vector<std::pair<TransferId, std::int32_t>>& sources = scratch_sources_;
  sources.clear();
  const auto add = [this, &sources](const Completion& completion, std::int32_t lag) {
    for (int i = 0; i < completion.size(); ++i) {
      const TransferId source = completion.nodes[static_cast<std::size_t>(i)];
      const bool once = tiles_ > 1 && is_launch(source);
      sources.emplace_back(source, once ? TransferGraph::kFirstOnly : lag);
    }
  };
  add(before(rank, block, step), 0);
  if (step == 0 && tiles_ > 1) {
    const auto steps = static_cast<int>(block_at(rank, block).steps.size());
    add(completion_of(rank, block, steps - 1), 1);
  }
  for (const StepRef& dependency : instruction.dependencies) {
    add(completion_of(rank, dependency.thread_block, dependency.step), 0);
  }
  if (receives(instruction.opcode)) {
    if (arrival_[index] < 0) {
      graph_->add_unsatisfiable_dependency(node);
    } else if (!takes_while_arriving(index, instruction.opcode)) {
      sources.emplace_back(arrival_[index], 0);
    }
  }
  if (sends(instruction.opcode) && config_.slots > 0) {
    const ThreadBlock& tb = block_at(rank, block);
    const Connection& c =
        connections_.at(connection_key(rank, tb.send_peer, tb.channel, tb.kernel));
    if (const auto freed = slot_freed_by(c, node)) {
      add(completion_of(tb.send_peer, c.target_block, freed->first), freed->second);
    }
  }
  // Of several edges from one node, the one of the smallest lag says it all.
  std::sort(sources.begin(), sources.end());
  TransferId last = -1;
  for (const auto& [source, lag] : sources) {
    // A node's firings are in order by themselves.
    if (source != last && !(source == node && lag > 0)) graph_->add_edge(source, node, lag);
    last = source;
  }
}

// The receive (a step of the connection's target block, and how many tiles earlier) that frees
// the slot which a flow moves into: of m messages a tile, the one `slots` messages before it.
std::optional<std::pair<int, std::int32_t>> Lowering::slot_freed_by(const Connection& c,
                                                                    TransferId flow) const {
  const auto messages = static_cast<std::int32_t>(c.flows.size());
  const auto position = static_cast<std::int32_t>(
      std::lower_bound(c.flows.begin(), c.flows.end(), flow) - c.flows.begin());
  std::int32_t freed = position - config_.slots;
  std::int32_t lag = 0;
  for (; freed < 0; freed += messages) ++lag;
  if (lag >= tiles_) return std::nullopt;
  return std::pair{c.target_steps[static_cast<std::size_t>(freed)], lag};
}

}  // namespace cclgym
