// Trees for AllGather at the throughput optimum of any fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/flow_graph.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/split.hpp"
#include "synthesis/tree_packing.hpp"

namespace cclgym::synthesis {

struct PackOptions {
  std::vector<int> group{};         ///< participating ranks, ascending; empty: all
  std::int64_t trees_per_root = 0;  ///< 0: as many as the exact optimum needs
  SplitMethod method = SplitMethod::Even;
  bool shallow = false;  ///< pack_shallow_trees(): slower, for trees of less depth
};

/// Out-trees from every member of the group, the same number per root, at allgather_bound() or,
/// with a number of trees, at allgather_bound_of_trees(). If that bound supposes that a switch
/// copies data, the trees are at the bound of balance() instead, with a number of trees near it.
/// The trees pass check_packing(). For ReduceScatter, pack the reversed graph and reverse the
/// trees. Throws UserError like the bounds.
[[nodiscard]] TreePacking pack_allgather(const FlowGraph& graph, const PackOptions& options = {});

/// counts[r] out-trees from each rank r that together use an edge at most capacities[edge] times;
/// each spans the group. The packing's capacity is left at 1. Throws UserError if they do not fit,
/// and for ranks outside the group with a count. `shallow` is that of PackOptions.
[[nodiscard]] TreePacking pack_trees(const FlowGraph& graph,
                                     const std::vector<std::int64_t>& capacities,
                                     const std::vector<std::int64_t>& counts,
                                     const std::vector<int>& group = {},
                                     SplitMethod method = SplitMethod::Even, bool shallow = false);

/// Rounds per chunk that a packing takes when every root's data is one chunk: the capacity of the
/// packing divided by the trees per root.
[[nodiscard]] Rational rounds_per_chunk(const TreePacking& packing);

}  // namespace cclgym::synthesis
