// The fabric as a flow network in whole link units: GPUs, switches, and the capacity between them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

struct FlowEdge {
  int source = 0;
  int target = 0;
  std::int64_t units = 0;  ///< capacity in link units, > 0
};

/// A directed graph whose nodes 0 .. ranks - 1 are the GPUs by rank; the rest are switches, NICs
/// and other devices. There is at most one edge from a node to a node.
struct FlowGraph {
  std::string name{};
  int ranks = 0;
  int nodes = 0;
  double unit_Bps = 1;  ///< bandwidth of one link unit, B/s
  std::vector<FlowEdge> edges{};
  /// By node: true if the node copies data to several links and adds data from several links
  /// (Node::computes). Ignored for GPUs, which always can.
  std::vector<char> computes{};
  /// Device of the fabric, by node; empty without a fabric. A device has several nodes if its links
  /// form sets such that no route passes from one set to another: a PCIe switch or a NIC has one
  /// node for what leaves the server, and one for what enters it.
  std::vector<NodeId> devices{};
  /// Edges that add() made, by source and target. Rebuilt after `edges` was changed by other means.
  std::unordered_map<std::int64_t, std::size_t> index{};

  /// Adds an edge, or adds to the capacity of the one that is there.
  void add(int source, int target, std::int64_t units);
  void add_duplex(int one, int other, std::int64_t units) {
    add(one, other, units);
    add(other, one, units);
  }
  /// The graph with every edge reversed; edges keep their indices.
  [[nodiscard]] FlowGraph reversed() const;
};

/// Graph of the links that messages can use: those on Fabric::route between two GPUs, on some
/// channel, without a GPU or an avoided host (host_use.hpp) in between. Links that no such route
/// uses (PCIe beside NVLink within a node) are left out, and a path may turn from a link to a link
/// only as routes do, so that a bound on the graph is a bound on what programs can do. Of servers
/// whose NICs are linked to the same network switches, some stand for all. Throws UserError if the
/// links have no common unit.
[[nodiscard]] FlowGraph make_flow_graph(const Fabric& fabric);

/// make_flow_graph() by the routes of all pairs of ranks, which takes time in proportion to the
/// square of the ranks. Used to check make_flow_graph().
[[nodiscard]] FlowGraph make_flow_graph_of_all_routes(const Fabric& fabric);

}  // namespace cclgym::synthesis
