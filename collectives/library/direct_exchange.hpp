// Direct exchanges: programs in which every rank sends a message to every other rank, and whose
// messages are so alike that a few of them stand for all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "collectives/algorithms/algorithm_entry.hpp"
#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/outline.hpp"

namespace cclgym {

struct ExchangeMessage {
  std::int32_t source = 0;   ///< rank
  std::int32_t target = 0;   ///< another rank
  std::int32_t channel = 0;  ///< 0 to DirectExchange::channels - 1
  friend bool operator==(const ExchangeMessage&, const ExchangeMessage&) = default;
};

/// A program of one kernel in which every rank sends one chunk to every other rank on every
/// channel, and copies one chunk per channel to itself. Each send, each receive and each copy is
/// the only step of a thread block of its own, and waits for nothing but its kernel and its
/// message.
struct DirectExchange {
  int ranks = 0;
  int channels = 0;  ///< channels of all instances

  [[nodiscard]] std::int64_t messages() const {
    return std::int64_t{channels} * ranks * (ranks - 1);
  }
  [[nodiscard]] std::int64_t blocks_per_rank() const {
    return std::int64_t{channels} * (2 * std::int64_t{ranks} - 1);
  }
};

/// The exchange that build_algorithm would make; nullopt if its program is none. The request must
/// be valid (check_request).
[[nodiscard]] std::optional<DirectExchange> direct_exchange(const AlgorithmEntry& algorithm,
                                                            const AlgorithmRequest& request);

/// Throws ResourceError if the classes of its messages (find_exchange_classes), which must be found
/// for a simulation, cannot fit into the memory of this process.
void require_exchange_memory(const AlgorithmEntry& algorithm, const AlgorithmRequest& request,
                             const DirectExchange& exchange);

/// Outline of some of the messages of a direct exchange, with the copies of rank 0 only. A rank
/// has a block for each message that it sends or receives, in the order of `messages`, which must
/// differ from each other.
[[nodiscard]] ProgramOutline exchange_outline(const AlgorithmEntry& algorithm,
                                              const AlgorithmRequest& request,
                                              std::span<const ExchangeMessage> messages);

}  // namespace cclgym
