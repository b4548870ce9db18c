// Exact bounds of a fabric's throughput, by maximum flows in whole numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/flow_graph.hpp"
#include "topology_models/rational.hpp"

namespace cclgym::synthesis {

/// A bound with its certificate. One round is the time in which a link unit carries one chunk.
struct CutBound {
  Rational value{0};        ///< rounds per chunk
  std::vector<char> cut{};  ///< the cut S that proves it, by node: true if the node is in S
};

/// Rounds per chunk of the fastest AllGather in which every rank of `group` (ascending; empty: all)
/// starts with one chunk: the maximum over all node sets S that leave out a member of (members in
/// S) / (units out of S). Trees reach it (ForestColl, arXiv 2402.06787) if switches are balanced
/// (is_balanced()). Ranks outside the group only pass data on. Throws UserError if a member cannot
/// reach another, or if whole numbers of 64 bits are too small.
[[nodiscard]] CutBound allgather_bound(const FlowGraph& graph, const std::vector<int>& group = {});

/// Rounds per chunk of the fastest Broadcast from `root` of a chunk that may be cut into parts: 1 /
/// (minimum capacity of a cut between the root and a member; Edmonds). Throws like
/// allgather_bound().
[[nodiscard]] CutBound broadcast_bound(const FlowGraph& graph, int root,
                                       const std::vector<int>& group = {});

/// Recomputes the value of a cut. Returns the first problem in words: S has every member, or the
/// members in S (with `root` >= 0: the root alone) divided by the units out of S differ from
/// `value`. Empty if there is none.
[[nodiscard]] std::string check_cut(const FlowGraph& graph, const std::vector<int>& group,
                                    const CutBound& bound, int root = -1);

/// Rounds per chunk of the fastest AllGather by `trees` equal trees per root (ForestColl's fixed
/// k), where a link of c units carries floor(c * U) trees in trees * rounds = U. It is not monotone
/// in the number of trees. Throws UserError for trees < 1, and like allgather_bound().
[[nodiscard]] Rational allgather_bound_of_trees(const FlowGraph& graph, std::int64_t trees,
                                                const std::vector<int>& group = {});

/// The ranks of a group; all ranks if it is empty. Throws UserError if it is not ascending, has
/// fewer than two ranks, or ranks that do not exist.
[[nodiscard]] std::vector<int> members_of(const FlowGraph& graph, const std::vector<int>& group);

/// True if for every member t, capacities (by edge) let the members send counts (by rank) units at
/// once, all of them to t: the condition for a packing of counts[r] out-trees from each rank r.
[[nodiscard]] bool supports_trees(const FlowGraph& graph,
                                  const std::vector<std::int64_t>& capacities,
                                  const std::vector<std::int64_t>& counts,
                                  const std::vector<int>& members);

}  // namespace cclgym::synthesis
