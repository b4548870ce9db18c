// Request for the program of an algorithm.
#pragma once

#include <array>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/contract.hpp"

namespace cclgym {

struct AlgorithmRequest {
  CollectiveKind collective = CollectiveKind::AllReduce;
  int ranks = 1;
  int channels = 1;  ///< >= 1
  int root = 0;      ///< for rooted collectives
  /// Order of the ranks on each logical ring; channel k uses rings[k % rings.size()]. Empty: 0, 1,
  /// ….
  std::vector<std::vector<int>> rings{};
  /// Number of consecutive ranks on one node, for algorithms that distinguish nodes; must divide
  /// `ranks`. 0: all ranks are on one node (tree: each rank is on its own node).
  int ranks_per_server = 0;
  /// For a tree over several nodes: places in a node's chain of ranks (0: its head, 1: the rank
  /// after it) to which the node's first and second child are connected. The parent is connected to
  /// the head.
  std::array<int, 2> tree_children{1, 0};
  /// For the same tree: orders of the ranks in the chains of a node, as numbers within the node;
  /// channel k uses order k mod their number. Empty: the order of the channel's ring.
  std::vector<std::vector<int>> tree_orders{};
  /// By default nothing is fused and no blocks are shared: in the simulation of complete messages,
  /// a step is done when its send is done, so a step that only waits for the receive would start
  /// late.
  CompileOptions compile{.fuse = false, .share_blocks = false};
};

}  // namespace cclgym
