// What an algorithm is asked to build a program for.
#pragma once

#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/contract.hpp"

namespace cclgym {

/// What an algorithm is asked to build.
struct AlgorithmRequest {
  CollectiveKind collective = CollectiveKind::AllReduce;
  int ranks = 1;
  int channels = 1;  ///< >= 1
  int root = 0;      ///< for rooted collectives
  /// Order of the ranks on each logical ring; channel k uses rings[k % rings.size()]. Empty: 0, 1,
  /// …
  std::vector<std::vector<int>> rings;
  /// Consecutive ranks of one server, for the algorithms that know of servers; 0: all ranks are on
  /// one (tree: each is on its own). Must divide `ranks`.
  int ranks_per_server = 0;
  /// Without fusion and shared blocks by default: the simulation of whole messages takes a step for
  /// done when its send is, so that what waits for the receive alone would come late.
  CompileOptions compile{.fuse = false, .share_blocks = false};
};

}  // namespace cclgym
