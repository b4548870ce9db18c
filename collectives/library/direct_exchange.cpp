#include "collectives/library/direct_exchange.hpp"

#include <fmt/format.h>
#include <vector>

#include "core/index.hpp"
#include "core/limits/memory_limit.hpp"

namespace cclgym {

std::optional<DirectExchange> direct_exchange(const AlgorithmEntry& algorithm,
                                              const AlgorithmRequest& request) {
  if (!algorithm.exchanges || !algorithm.exchanges(request)) return std::nullopt;
  return DirectExchange{request.ranks, request.channels * request.compile.instances};
}

void require_exchange_memory(const AlgorithmEntry& algorithm, const AlgorithmRequest& request,
                             const DirectExchange& exchange) {
  // Half of what 2,048 ranks took, as for programs (docs/performance.md, "Memory").
  constexpr double kBytesPerMessage = 19;
  require_memory(kBytesPerMessage * static_cast<double>(exchange.messages()),
                 fmt::format("{} by '{}' on {} ranks with {} channel{}",
                             to_string(request.collective), algorithm.name, request.ranks,
                             request.channels, request.channels == 1 ? "" : "s"),
                 "a smaller fabric, fewer channels or fewer instances need less");
}

ProgramOutline exchange_outline(const AlgorithmEntry& algorithm, const AlgorithmRequest& request,
                                std::span<const ExchangeMessage> messages) {
  const int channels = request.channels * request.compile.instances;
  ProgramOutline outline(
      algorithm.name,
      Contract::make(request.collective, request.ranks, request.channels, false, request.root)
          .refined(request.compile.instances),
      algorithm.traits);
  std::vector<std::vector<const ExchangeMessage*>> of_rank(at(request.ranks));
  for (const ExchangeMessage& message : messages) {
    of_rank[at(message.source)].push_back(&message);
    of_rank[at(message.target)].push_back(&message);
  }
  const auto add = [&outline](const OutlineBlock& block, Opcode opcode) {
    outline.begin_block(block);
    outline.begin_loop(1);
    outline.add_step(opcode, 1);
  };
  for (int rank = 0; rank < request.ranks; ++rank) {
    outline.begin_rank();
    for (const ExchangeMessage* message : of_rank[at(rank)]) {
      if (message->source == rank) {
        add({.send_peer = message->target, .channel = message->channel}, Opcode::Send);
      } else {
        add({.recv_peer = message->source, .channel = message->channel}, Opcode::Recv);
      }
    }
    for (int channel = 0; channel < channels && rank == 0; ++channel) {
      add({.channel = channel}, Opcode::Copy);
    }
  }
  outline.finish();
  outline.channels = channels;
  return outline;
}

}  // namespace cclgym
