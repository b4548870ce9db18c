// The fabric as a flow network in whole link units: GPUs, switches, and the capacity between them.
#pragma once

#include <cstdint>
#include <string>
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
  /// Device of the fabric, by node; empty without a fabric.
  std::vector<NodeId> devices{};

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
/// channel, without a GPU in between. Links that no such route uses (PCIe beside NVLink within a
/// node) are left out, so that a bound on the graph is a bound on what programs can do. Throws
/// UserError if the links have no common unit.
[[nodiscard]] FlowGraph make_flow_graph(const Fabric& fabric);

}  // namespace cclgym::synthesis
