// Channels of the messages of many trees.
#pragma once

#include <vector>

#include "synthesis/flow_graph.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// A tree as a program uses it: data flow from its root, or are added up towards its root.
struct DirectedTree {
  const Tree* tree = nullptr;
  bool inward = false;
  bool multicast = false;  ///< edges that switches copy (one group per rank) share a channel

  /// Ends of the message of an edge.
  [[nodiscard]] int sender(const TreeEdge& edge) const {
    return inward ? edge.target : edge.source;
  }
  [[nodiscard]] int receiver(const TreeEdge& edge) const {
    return inward ? edge.source : edge.target;
  }
};

/// Step, from 0, in which the message of each edge can be sent, if every message takes one step:
/// the depth of its sender, or, inward, the height of the subtree that it sums up.
[[nodiscard]] std::vector<int> message_levels(const DirectedTree& tree);

/// Channel of each edge of each tree.
///
/// A message must take the path of its edge, which only some channels do (Fabric::route). If the
/// channels suffice for it, every tree has one channel, so that receives are fused with sends, and
/// no connection (sender, receiver, channel) serves two trees. Otherwise every edge has its own
/// channel, if possible that of the edge above it. If even these do not suffice, trees share
/// connections: with the same direction, since a tree that spreads a sum behind a tree that
/// computes it would wait for each tile's round trip, and with similar levels, since the messages
/// of a connection are sent in one order.
///
/// `fabric` may be null: all channels are equal then. Throws UserError if no channel below
/// `channels` takes an edge's path; with `reroute`, all channels are allowed for such an edge.
[[nodiscard]] std::vector<std::vector<int>> assign_tree_channels(
    const FlowGraph& graph, const Fabric* fabric, const std::vector<DirectedTree>& trees,
    int channels, bool reroute = false);

}  // namespace cclgym::synthesis
