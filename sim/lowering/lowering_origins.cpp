// Lowering, origins: the steps of a program that the firings of its nodes stand for.
#include <fmt/core.h>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace cclgym {

namespace {

std::uint32_t block_of(const LoweredProgram& lowered, int rank, int thread_block) {
  return lowered.outline->first_block(rank) + static_cast<std::uint32_t>(thread_block);
}

const OutlineLoop& loop_of(const LoweredProgram& lowered, const NodeOrigin& origin) {
  return lowered.outline->loop_at(block_of(lowered, origin.rank, origin.thread_block), origin.step);
}

}  // namespace

std::int32_t receiving_step(const LoweredProgram& lowered, TransferId flow, std::int32_t firing) {
  const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(flow)];
  if (!lowered.folded) return origin.peer_step;
  using Of = MessageIndex::Of;
  const ProgramOutline& outline = *lowered.outline;
  const OutlineLoop& loop = loop_of(lowered, origin);
  const auto number = static_cast<std::uint32_t>(&loop - outline.loops.data());
  const std::uint32_t sent =
      loop.first + static_cast<std::uint32_t>((origin.step - loop.first_step) % loop.body);
  std::int32_t message = lowered.messages->first(Of::Sends, number) +
                         firing * lowered.messages->each(Of::Sends, number);
  for (std::uint32_t step = loop.first; step < sent; ++step) {
    message += sends(outline.steps[step].opcode) ? 1 : 0;
  }
  const std::uint32_t block = block_of(lowered, origin.peer_rank, origin.peer_thread_block);
  std::vector<IterationPiece> found;
  (void)lowered.messages->find(Of::Receives, block, message, 1, 1, found);
  return outline.number_of(block, found.front().step, found.front().shift);
}

std::int32_t step_of_firing(const LoweredProgram& lowered, TransferId node, std::int32_t firing) {
  const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(node)];
  if (!lowered.folded || origin.thread_block < 0) return origin.step;
  if (origin.role == NodeRole::Arrival) return receiving_step(lowered, node - 1, firing);
  return origin.step + firing * loop_of(lowered, origin).body;
}

std::string describe_node(const LoweredProgram& lowered, TransferId node, std::int32_t firing) {
  const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(node)];
  const std::string kernel =
      origin.step > 0 ? fmt::format(" of kernel {}", origin.step) : std::string();
  if (origin.role == NodeRole::Launch)
    return fmt::format("rank {}: kernel launch{}", origin.rank, kernel);
  if (origin.role == NodeRole::Start) return fmt::format("rank {}: start{}", origin.rank, kernel);
  std::string step = describe_step(*lowered.outline, origin.rank, origin.thread_block,
                                   step_of_firing(lowered, node, firing));
  if (lowered.classes && lowered.classes->examples) {
    step = fmt::format("rank {}{}", origin.rank, step.substr(step.find(": ")));
  }
  if (origin.role == NodeRole::Head) return step + ", first unit";
  return step + (origin.role == NodeRole::Arrival ? ", in flight" : "");
}

}  // namespace cclgym
