// Helpers of the tests of lowering: trees made by hand, and checks of programs.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/library/logical_rings.hpp"
#include "collectives/program.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/lowering/program_form.hpp"
#include "synthesis/tree_packing.hpp"

namespace cclgym::test {

/// Path of Fabric::route between two ranks on a channel, as nodes of the graph.
inline std::vector<int> path_of(const synthesis::FlowGraph& graph, const Fabric& fabric, int source,
                                int target, int channel = 0) {
  std::vector<int> node_of(fabric.nodes().size(), -1);
  for (std::size_t k = 0; k < graph.devices.size(); ++k) {
    node_of[static_cast<std::size_t>(graph.devices[k])] = static_cast<int>(k);
  }
  std::vector<int> through;
  const std::vector<LinkId> route = fabric.route(source, target, channel);
  for (std::size_t k = 0; k + 1 < route.size(); ++k) {
    const Link& link = fabric.links()[static_cast<std::size_t>(route[k])];
    through.push_back(node_of[static_cast<std::size_t>(link.target)]);
  }
  return through;
}

/// One tree per GPU: binomial over the servers on the root's rail, and a star in each server. The
/// tree of a root is the tree of the root in server 0, rotated.
inline synthesis::TreePacking orbit_trees(const synthesis::FlowGraph& graph, const Fabric& fabric) {
  const int servers = fabric.servers();
  const int size = fabric.ranks() / servers;
  synthesis::TreePacking packing;
  for (int first = 0; first < servers; ++first) {
    for (int rail = 0; rail < size; ++rail) {
      synthesis::Tree tree{.root = first * size + rail};
      for (int k = 0; k < servers; ++k) {
        const int here = (first + k) % servers * size + rail;
        if (k > 0) {
          int high = 1;
          while (high * 2 <= k) high *= 2;
          const int above = (first + k - high) % servers * size + rail;
          tree.edges.push_back({above, here, path_of(graph, fabric, above, here)});
        }
        for (int gpu = 0; gpu < size; ++gpu) {
          const int there = here - rail + gpu;
          if (gpu == rail) continue;
          tree.edges.push_back({here, there, path_of(graph, fabric, here, there)});
        }
      }
      packing.trees.push_back(std::move(tree));
    }
  }
  return packing;
}

/// For every rank and logical ring, the path around the ring from the rank.
inline synthesis::TreePacking ring_trees(const synthesis::FlowGraph& graph, const Fabric& fabric) {
  synthesis::TreePacking packing;
  for (int root = 0; root < fabric.ranks(); ++root) {
    for (const std::vector<int>& ring : logical_rings(fabric)) {
      const auto size = static_cast<int>(ring.size());
      const auto first = static_cast<int>(std::find(ring.begin(), ring.end(), root) - ring.begin());
      synthesis::Tree tree{.root = root};
      for (int k = 0; k + 1 < size; ++k) {
        const int here = ring[static_cast<std::size_t>((first + k) % size)];
        const int next = ring[static_cast<std::size_t>((first + k + 1) % size)];
        tree.edges.push_back({here, next, path_of(graph, fabric, here, next)});
      }
      packing.trees.push_back(std::move(tree));
    }
  }
  return packing;
}

/// Requires that the program, traced and compiled, fused and not, is right: verify, and execution
/// in several orders. Returns the fused program.
std::shared_ptr<const ThreadBlockProgram> require_right(const Program& program);

}  // namespace cclgym::test
