// Finds the classes of nodes and links of a transfer graph that behave the same, date by date.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// An equitable partition of a graph's nodes and links: nodes of one class wait for the same
/// classes and cross the same classes of links; links of one class have the same capacity and carry
/// equally many flows of each class. By induction over the dates of a run, nodes of a class fire at
/// the same dates: their dependencies finish together, and max-min fair rates, which are unique,
/// are equal by symmetry. A ring of 8 ranks with 32 channels has 14 classes instead of 3,584 flows.
struct GraphSymmetry {
  std::vector<std::int32_t> node_class;  ///< by node
  std::vector<TransferId> node;          ///< by class: its first node
  std::vector<std::int32_t> link_class;  ///< by link; -1 if no route crosses it
  std::vector<std::int32_t> link;        ///< by class: its first link
};

/// Finds the coarsest such partition in which nodes of a class have the same key, repeat and kind,
/// and links of a class the same capacity. `node_key`: by node; nodes with the same key must have
/// the same bytes, latency and rate cap. Uses colour refinement by 64-bit hashes and checks the
/// result. Returns nullopt if the check fails (a hash collision), if the graph has route choices, a
/// background, or nodes that can never fire, or if there are more than `max_classes` classes of
/// nodes.
[[nodiscard]] std::optional<GraphSymmetry> find_symmetry(
    const TransferGraph& graph, std::span<const std::uint64_t> node_key,
    std::size_t max_classes = std::numeric_limits<std::size_t>::max());

}  // namespace cclgym
