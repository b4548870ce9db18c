// Switches that receive exactly as much as they send.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/flow_graph.hpp"

namespace cclgym::synthesis {

/// A graph without the capacity that switches cannot use, in finer units.
struct BalancedGraph {
  FlowGraph graph{};        ///< edges keep their indices; an edge may have 0 units
  std::int64_t factor = 1;  ///< its units per unit of the original graph
};

/// True if every node outside the group (ascending ranks) receives as many units as it sends. Then
/// the bound of cuts can be reached; otherwise a switch that does not copy may be the limit, such
/// as a PCIe switch that feeds two GPUs from one NIC.
[[nodiscard]] bool is_balanced(const FlowGraph& graph, const std::vector<int>& members);

/// Reduces the wider side of every such node, all its edges in proportion, until all are balanced.
/// This is the optimum where the edges of a side are alike. Without `finer`, units stay as they are
/// and edges of a side differ by the rest of a division.
[[nodiscard]] BalancedGraph balance(const FlowGraph& graph, const std::vector<int>& members,
                                    bool finer = true);

/// Scales shares down in proportion until they add up to at most `total`; the first ones get what
/// division leaves over.
void scale_shares(const std::vector<std::int64_t*>& shares, std::int64_t total);

}  // namespace cclgym::synthesis
