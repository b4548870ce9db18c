// The shipped programs, one file per algorithm. Each traces the requested collective; the request
// has been checked (collective supported, ranks fit, channels >= 1, rings valid).
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

[[nodiscard]] Program ring(const AlgorithmRequest& request);
[[nodiscard]] Program recursive_doubling(const AlgorithmRequest& request);
[[nodiscard]] Program recursive_halving(const AlgorithmRequest& request);
[[nodiscard]] Program halving_doubling(const AlgorithmRequest& request);
[[nodiscard]] Program tree(const AlgorithmRequest& request);
[[nodiscard]] Program all_pairs(const AlgorithmRequest& request);
[[nodiscard]] Program naive(const AlgorithmRequest& request);

// For these, `ranks_per_server` is at least 1 and divides the number of ranks.
[[nodiscard]] Program hierarchical(const AlgorithmRequest& request);
[[nodiscard]] Program hierarchical_composed(const AlgorithmRequest& request);
[[nodiscard]] Program two_step(const AlgorithmRequest& request);
[[nodiscard]] Program two_step_composed(const AlgorithmRequest& request);
/// Thread blocks per channel in Two-Step's hand-written copy kernel, if there are enough copies.
[[nodiscard]] int copy_lanes(const AlgorithmRequest& request);
[[nodiscard]] Program all_to_next(const AlgorithmRequest& request);

[[nodiscard]] Program three_step(const AlgorithmRequest& request);
[[nodiscard]] Program hierarchical_all_pairs(const AlgorithmRequest& request);

[[nodiscard]] Program spread_ring(const AlgorithmRequest& request);
[[nodiscard]] Program one_step(const AlgorithmRequest& request);
[[nodiscard]] Program nvls(const AlgorithmRequest& request);
[[nodiscard]] Program nvls_tree(const AlgorithmRequest& request);
[[nodiscard]] Program pat(const AlgorithmRequest& request);
[[nodiscard]] Program chain(const AlgorithmRequest& request);

// Algorithms of OpenMPI that NCCL does not have.
[[nodiscard]] Program linear(const AlgorithmRequest& request);
[[nodiscard]] Program pipeline(const AlgorithmRequest& request);
[[nodiscard]] Program four_chains(const AlgorithmRequest& request);
[[nodiscard]] Program binary_tree(const AlgorithmRequest& request);
[[nodiscard]] Program binomial_tree(const AlgorithmRequest& request);
[[nodiscard]] Program knomial_tree(const AlgorithmRequest& request);
[[nodiscard]] Program scatter_allgather(const AlgorithmRequest& request);
[[nodiscard]] Program scatter_allgather_ring(const AlgorithmRequest& request);
[[nodiscard]] Program rabenseifner(const AlgorithmRequest& request);
[[nodiscard]] Program butterfly(const AlgorithmRequest& request);
[[nodiscard]] Program bruck(const AlgorithmRequest& request);
[[nodiscard]] Program neighbor_exchange(const AlgorithmRequest& request);
[[nodiscard]] Program pairwise(const AlgorithmRequest& request);

/// OpenMPI's trees (rooted_trees.cpp).
enum class RootedTree : std::uint8_t { Pipeline, FourChains, Binary, Binomial, Knomial };
/// Parent of every rank in the tree; -1 for the root.
[[nodiscard]] std::vector<int> parents_in(RootedTree tree, int ranks, int root);

/// A rank's neighbours in a binary tree; -1 for none.
struct TreeNeighbours {
  int parent = -1;
  int children[2] = {-1, -1};
  friend bool operator==(const TreeNeighbours&, const TreeNeighbours&) = default;
};

/// The two trees of NCCL's double binary tree (src/graph/trees.cc). Tree 0 has its leaves at the
/// odd ranks. Tree 1 is its mirror image if `ranks` is even, and tree 0 shifted by one rank if it
/// is odd, so that its leaves are the inner vertices of tree 0, except for one rank.
[[nodiscard]] TreeNeighbours double_tree(int tree, int ranks, int rank);

}  // namespace cclgym::algorithms
