// The shipped algorithms, one file per algorithm or family. Each file traces its programs, counts
// their thread blocks, and makes the entry of the library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_entry.hpp"
#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

[[nodiscard]] AlgorithmEntry ring_entry();
[[nodiscard]] AlgorithmEntry recursive_doubling_entry();
[[nodiscard]] AlgorithmEntry recursive_halving_entry();
[[nodiscard]] AlgorithmEntry halving_doubling_entry();
[[nodiscard]] AlgorithmEntry tree_entry();
[[nodiscard]] AlgorithmEntry all_pairs_entry();
[[nodiscard]] AlgorithmEntry naive_entry();
[[nodiscard]] AlgorithmEntry spread_ring_entry();
[[nodiscard]] AlgorithmEntry hierarchical_entry();
[[nodiscard]] AlgorithmEntry hierarchical_composed_entry();
[[nodiscard]] AlgorithmEntry two_step_entry();
[[nodiscard]] AlgorithmEntry two_step_composed_entry();
[[nodiscard]] AlgorithmEntry all_to_next_entry();
[[nodiscard]] AlgorithmEntry one_step_entry();
[[nodiscard]] AlgorithmEntry hierarchical_all_pairs_entry();
[[nodiscard]] AlgorithmEntry chain_entry();
[[nodiscard]] AlgorithmEntry three_step_entry();
[[nodiscard]] AlgorithmEntry pat_entry();
[[nodiscard]] AlgorithmEntry nvls_entry();
[[nodiscard]] AlgorithmEntry nvls_tree_entry();
[[nodiscard]] AlgorithmEntry collnet_chain_entry();
[[nodiscard]] AlgorithmEntry collnet_direct_entry();
[[nodiscard]] AlgorithmEntry symmetric_ll_entry();
[[nodiscard]] AlgorithmEntry symmetric_llmc_entry();
[[nodiscard]] AlgorithmEntry symmetric_ldst_entry();
[[nodiscard]] AlgorithmEntry symmetric_ldstmc_entry();

// Algorithms of OpenMPI that NCCL does not have.
[[nodiscard]] AlgorithmEntry linear_entry();
[[nodiscard]] AlgorithmEntry pipeline_entry();
[[nodiscard]] AlgorithmEntry four_chains_entry();
[[nodiscard]] AlgorithmEntry binary_tree_entry();
[[nodiscard]] AlgorithmEntry binomial_tree_entry();
[[nodiscard]] AlgorithmEntry knomial_tree_entry();
[[nodiscard]] AlgorithmEntry scatter_allgather_entry();
[[nodiscard]] AlgorithmEntry scatter_allgather_ring_entry();
[[nodiscard]] AlgorithmEntry rabenseifner_entry();
[[nodiscard]] AlgorithmEntry butterfly_entry();
[[nodiscard]] AlgorithmEntry bruck_entry();
[[nodiscard]] AlgorithmEntry neighbor_exchange_entry();
[[nodiscard]] AlgorithmEntry pairwise_entry();

// Collectives over levels of ranks (levels/levels_entry.cpp).
[[nodiscard]] AlgorithmEntry pccl_ring_entry();
[[nodiscard]] AlgorithmEntry pccl_rec_entry();
/// The notation of a collective over levels, for lists and messages.
[[nodiscard]] const std::string& levels_form();
/// Its algorithms and options, in one line.
[[nodiscard]] std::string levels_options();
/// True if the name has the form of a collective over levels; it need not be well-formed.
[[nodiscard]] bool spells_levels(std::string_view name);
/// Entry of a name such as "hierarchical:8x256:ring+recursive". Throws UserError if it is not
/// well-formed.
[[nodiscard]] AlgorithmEntry spelled_levels_entry(std::string_view name);

// Numbers of thread blocks on the busiest GPU, used by several algorithms. On each channel a rank
// has one block for each peer that it sends to and one for each peer that it receives from. It has
// a single block for both if it passes on the data that it received (compiler/thread_blocks.hpp).
// Copies inside a GPU that belong to no message are on a separate block.

/// Thread blocks of a direct exchange with every other rank.
[[nodiscard]] std::int64_t all_pairs_blocks(const AlgorithmRequest& request);
/// Thread blocks of sends that go straight to the destinations of the chunks.
[[nodiscard]] std::int64_t naive_blocks(const AlgorithmRequest& request);
/// Two thread blocks per partner at a distance of a power of two; fewer if a run of slices is
/// passed on.
[[nodiscard]] std::int64_t doubling_blocks(const AlgorithmRequest& request);
/// Thread blocks of log2(ranks) steps, rounded up, each with a different destination and source.
[[nodiscard]] std::int64_t pat_blocks(const AlgorithmRequest& request);
/// Thread blocks per channel of the double tree over `nodes` nodes, without the blocks inside the
/// nodes.
[[nodiscard]] std::int64_t double_tree_blocks(int nodes);

/// OpenMPI's trees (rooted_trees.cpp).
enum class RootedTree : std::uint8_t { Pipeline, FourChains, Binary, Binomial, Knomial };
/// Parent of every rank in this tree; -1 for the root.
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
