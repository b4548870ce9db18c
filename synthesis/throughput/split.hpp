// Removal of switches: edges through them become edges between ranks, without loss of throughput.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "synthesis/flow_graph.hpp"

namespace cclgym::synthesis {

/// A route of an edge between ranks through the nodes that were removed.
struct SplitPath {
  std::vector<int>
      through{};  ///< removed nodes, in order; ranks outside the group can be among them
  std::int64_t units = 0;
};

/// An edge between two ranks of a group, made of paths.
struct SplitEdge {
  int source = 0;
  int target = 0;
  std::int64_t units = 0;  ///< capacity: the sum over the paths
  std::vector<SplitPath> paths{};
};

/// How switches are removed. Both ways keep the throughput.
enum class SplitMethod : std::uint8_t {
  Even,  ///< spreads a switch's capacity evenly over its neighbours if that keeps the throughput
  Exact  ///< splits off pairs of edges, each for as much as the throughput allows
};

/// Replaces all nodes but the members of `group` (ascending) by edges between members, such that
/// counts[r] out-trees from each rank r still fit: pairs of edges (u, w), (w, t) at a node w become
/// an edge (u, t) (Bang-Jensen, Frank and Jackson, SIAM J. Discrete Math. 1995; ForestColl, section
/// 5.2). `capacities` is by edge of the graph, in trees, `counts` by rank. The paths use each edge
/// of the graph at most as often as it has capacity. Edges are in ascending order of (source,
/// target). Throws UserError if the counts do not fit into the graph itself. Empty if a switch that
/// is not balanced (is_balanced()) would have to copy data for them to fit.
[[nodiscard]] std::optional<std::vector<SplitEdge>> remove_switches(
    const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
    const std::vector<std::int64_t>& counts, const std::vector<int>& group,
    SplitMethod method = SplitMethod::Even);

}  // namespace cclgym::synthesis
