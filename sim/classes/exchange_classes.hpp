// Classes of the messages of a direct exchange, found without a graph of all messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/library/direct_exchange.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// An equitable partition (sim/graph/symmetry.hpp) of the messages of a direct exchange and of the
/// links that they cross: messages of a class cost the same and cross the same classes of links;
/// links of a class have the same capacity and carry equally many messages of each class.
struct ExchangeClasses {
  struct Load {
    std::int32_t link = 0;      ///< class of links
    std::int32_t messages = 0;  ///< messages of the class on each of its links
  };
  std::vector<ExchangeMessage> first;               ///< by class of messages: its first message
  std::vector<std::int64_t> messages;               ///< by class of messages: number
  std::vector<std::vector<Load>> loads;             ///< by class of messages
  std::vector<std::int32_t> link_class;             ///< by link; -1 if no message crosses it
  std::vector<std::int32_t> link;                   ///< by class of links: its first link
  std::vector<std::vector<std::int32_t>> sent;      ///< by rank: classes of its messages
  std::vector<std::vector<std::int32_t>> received;  ///< by rank
  /// By link: the first link of the same capacity, which is all that the partition depends on.
  std::vector<std::int32_t> first_equal_capacity;

  /// True if find_exchange_classes would find this partition for these capacities, B/s by link.
  [[nodiscard]] bool hold_for(std::span<const double> capacities_Bps) const;
};

/// Finds the coarsest such partition. `capacities_Bps`: by link of the fabric, followed by one per
/// rank for its proxy if proxies limit messages over the network. Messages cost the same if their
/// routes have links of the same kinds and latencies in the same order. Takes time in proportion to
/// the messages, and about 60 bytes for each. Returns nullopt if there are so many classes that
/// they save little, if routes adapt to the load, or if the check of the result fails (a hash
/// collision).
[[nodiscard]] std::optional<ExchangeClasses> find_exchange_classes(
    const Fabric& fabric, const DirectExchange& exchange, std::span<const double> capacities_Bps);

}  // namespace cclgym
