#include "synthesis/tree_packing.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

// Products of units and counts of large fabrics may not fit into 64 bits.
__extension__ using Wide = __int128;

}  // namespace

int Tree::depth() const {
  std::unordered_map<int, int> depth_of{{root, 0}};
  int deepest = 0;
  for (const TreeEdge& edge : edges) {
    const int depth = depth_of.at(edge.source) + 1;
    depth_of[edge.target] = depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

std::int64_t TreePacking::trees_of(int root) const {
  std::int64_t count = 0;
  for (const Tree& tree : trees) {
    if (tree.root == root) count += tree.count;
  }
  return count;
}

int TreePacking::depth() const {
  int deepest = 0;
  for (const Tree& tree : trees) deepest = std::max(deepest, tree.depth());
  return deepest;
}

std::vector<std::int64_t> edge_loads(const FlowGraph& graph, const TreePacking& packing) {
  std::unordered_map<std::int64_t, std::size_t> index;
  const auto key = [&](int source, int target) {
    return static_cast<std::int64_t>(source) * graph.nodes + target;
  };
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    index[key(graph.edges[k].source, graph.edges[k].target)] = k;
  }
  std::vector<std::int64_t> load(graph.edges.size(), 0);
  for (const Tree& tree : packing.trees) {
    for (const TreeEdge& edge : tree.edges) {
      int here = edge.source;
      const auto pass = [&](int next) {
        const auto found = index.find(key(here, next));
        if (found == index.end()) {
          throw std::logic_error(fmt::format("no edge from node {} to node {}", here, next));
        }
        load[found->second] += tree.count;
        here = next;
      };
      for (const int node : edge.through) pass(node);
      pass(edge.target);
    }
  }
  return load;
}

std::string check_packing(const FlowGraph& graph, const TreePacking& packing,
                          const std::vector<int>& group,
                          const std::vector<std::int64_t>& loads_before) {
  std::vector<int> members = group;
  if (members.empty()) {
    members.resize(at(graph.ranks));
    std::iota(members.begin(), members.end(), 0);
  }
  for (const Tree& tree : packing.trees) {
    if (tree.count < 1) return fmt::format("a tree of rank {} has count {}", tree.root, tree.count);
    std::vector<char> reached(at(graph.ranks), 0);
    if (tree.root < 0 || tree.root >= graph.ranks) return fmt::format("no rank {}", tree.root);
    reached[at(tree.root)] = 1;
    for (const TreeEdge& edge : tree.edges) {
      for (const int rank : {edge.source, edge.target}) {
        if (rank < 0 || rank >= graph.ranks) return fmt::format("no rank {}", rank);
      }
      if (!reached[at(edge.source)]) {
        return fmt::format("tree of rank {}: rank {} sends before it receives", tree.root,
                           edge.source);
      }
      if (reached[at(edge.target)]) {
        return fmt::format("tree of rank {}: rank {} receives twice", tree.root, edge.target);
      }
      for (const int node : edge.through) {
        if (node < graph.ranks || node >= graph.nodes) {
          return fmt::format("tree of rank {}: passes through node {}, which is no switch",
                             tree.root, node);
        }
      }
      reached[at(edge.target)] = 1;
    }
    for (const int rank : members) {
      if (!reached[at(rank)]) {
        return fmt::format("tree of rank {} does not reach rank {}", tree.root, rank);
      }
    }
  }
  std::vector<std::int64_t> loads;
  try {
    loads = edge_loads(graph, packing);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const FlowEdge& edge = graph.edges[k];
    const std::int64_t load = loads[k] + (loads_before.empty() ? 0 : loads_before[k]);
    if (static_cast<Wide>(load) * packing.capacity_denominator >
        static_cast<Wide>(edge.units) * packing.capacity_numerator) {
      return fmt::format("{} parts over the edge from node {} to node {}, which carries {}/{}",
                         load, edge.source, edge.target, edge.units * packing.capacity_numerator,
                         packing.capacity_denominator);
    }
  }
  return {};
}

}  // namespace cclgym::synthesis
