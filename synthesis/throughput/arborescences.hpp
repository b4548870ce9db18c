// Packing of out-trees into a graph whose nodes are all ranks of a group.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/throughput/split.hpp"

namespace cclgym::synthesis {

/// `count` equal out-trees from one root.
struct OutTree {
  int root = 0;
  std::int64_t count = 0;
  /// Indices of edges in the order in which the tree grows, from the root outwards.
  std::vector<int> edges{};
};

/// Packs counts[r] out-trees, each of which spans `members`, from every rank r into edges between
/// members: no edge is in more trees than it has units (Edmonds; grown edge by edge as in
/// ForestColl, section 5.3). Trees grow breadth-first, so that they stay shallow. Throws
/// std::logic_error if the trees do not fit.
[[nodiscard]] std::vector<OutTree> pack_out_trees(const std::vector<SplitEdge>& edges,
                                                  const std::vector<std::int64_t>& counts,
                                                  const std::vector<int>& members);

/// The same with trees that grow at once, level by level and one edge at a time, so that no tree is
/// left with the longest ways. They are shallower than those of pack_out_trees(), and take longer
/// to find: a flow for every edge that a tree takes or is refused.
[[nodiscard]] std::vector<OutTree> pack_shallow_trees(const std::vector<SplitEdge>& edges,
                                                      const std::vector<std::int64_t>& counts,
                                                      const std::vector<int>& members);

}  // namespace cclgym::synthesis
