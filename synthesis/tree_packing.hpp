// Trees that carry a collective at full throughput, with the share of the data that each carries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/flow_graph.hpp"

namespace cclgym::synthesis {

/// One edge of a tree: a message from a GPU to a GPU, and the nodes of the flow graph that it
/// passes through.
struct TreeEdge {
  int source = 0;              ///< rank
  int target = 0;              ///< rank
  std::vector<int> through{};  ///< nodes between the two, in order; none of them a GPU
};

/// `count` equal trees from one root. Each carries one part of the root's data.
struct Tree {
  int root = 0;
  std::int64_t count = 1;
  std::vector<TreeEdge> edges{};  ///< an edge's source is the root or the target of an earlier edge

  [[nodiscard]] int depth() const;  ///< edges on the longest path from the root
};

/// Out-trees from every root. A root's data is cut into parts, one per tree; every part has the
/// same size, so a root's share of the data is its number of trees.
struct TreePacking {
  std::vector<Tree> trees{};
  /// Parts that one link unit carries while the collective runs, as a fraction: the load of an edge
  /// of c units is at most c times this.
  std::int64_t capacity_numerator = 1;
  std::int64_t capacity_denominator = 1;

  [[nodiscard]] std::int64_t trees_of(int root) const;  ///< number of trees of a root
  [[nodiscard]] int depth() const;                      ///< maximum over all trees
};

/// Adds up the load of every edge in whole numbers and checks that it is within the capacity, that
/// every path exists, and that each tree spans `group` (ascending ranks; empty: all ranks) from its
/// root. `loads_before`, if given, is by edge and is counted as well. Returns the first problem in
/// words; empty if there is none. It uses nothing of the code that makes trees.
[[nodiscard]] std::string check_packing(const FlowGraph& graph, const TreePacking& packing,
                                        const std::vector<int>& group = {},
                                        const std::vector<std::int64_t>& loads_before = {});

/// Load of every edge of the graph in parts, by index. Throws std::logic_error if a path does not
/// exist.
[[nodiscard]] std::vector<std::int64_t> edge_loads(const FlowGraph& graph,
                                                   const TreePacking& packing);

}  // namespace cclgym::synthesis
