// Broadcast and Reduce on OpenMPI's trees (4.1, ompi/mca/coll/base/coll_base_topo.c), for any
// number >= 2 of ranks: data goes down from parents to children, or sums go up.
//
// They run in place with one chunk and `channels` instances (parallelize). Segments are tiles: a
// rank passes a tile on as soon as it has it (coll_base_bcast.c, coll_base_reduce.c: it sends to
// all its children at once and receives the next segment meanwhile). Ranks are counted from the
// root, as in OpenMPI, so trees of different roots differ only in the numbering of their ranks.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/rooted_tree.hpp"

namespace cclgym::algorithms {

namespace {

/// Defaults of coll_tuned_*_algorithm_chain_fanout and coll_tuned_bcast_algorithm_knomial_radix.
constexpr int kChains = 4;
constexpr int kRadix = 4;

/// The ranks other than 0, in order, form `chains` chains of equal length, the first chains longer
/// by one rank where needed; the chain heads are children of 0.
int parent_on_chains(int chains, int ranks, int rank) {
  const int count = std::min(chains, ranks - 1);
  const int length = (ranks - 1) / count;
  const int in_longer = (ranks - 1) % count * (length + 1);
  const int place = rank - 1;
  const bool head =
      place < in_longer ? place % (length + 1) == 0 : (place - in_longer) % length == 0;
  return head ? 0 : rank - 1;
}

/// The levels are those of a heap, but the two children of a rank are one and two level widths
/// further on: 1 has 3 and 5, and 2 has 4 and 6.
int parent_in_binary_tree(int rank) {
  const auto above = static_cast<int>(std::bit_floor(static_cast<unsigned>(rank + 1)) / 2);
  return (rank - (above - 1)) % above + above - 1;
}

/// Clears the highest bit: 0 has the children 1, 2, 4, …, and 1 has 3, 5, 9, ….
int parent_in_binomial_tree(int rank) {
  return rank - static_cast<int>(std::bit_floor(static_cast<unsigned>(rank)));
}

/// Clears the lowest nonzero digit in base kRadix.
int parent_in_knomial_tree(int rank) {
  int run = kRadix;
  while (rank % run == 0) run *= kRadix;
  return rank - rank % run;
}

int parent_of(RootedTree tree, int ranks, int rank) {
  if (rank == 0) return -1;
  switch (tree) {
    case RootedTree::Pipeline:
      return rank - 1;
    case RootedTree::FourChains:
      return parent_on_chains(kChains, ranks, rank);
    case RootedTree::Binary:
      return parent_in_binary_tree(rank);
    case RootedTree::Binomial:
      return parent_in_binomial_tree(rank);
    case RootedTree::Knomial:
      break;
  }
  return parent_in_knomial_tree(rank);
}

Program on_tree(RootedTree tree, const char* name, const AlgorithmRequest& request) {
  ProgramBuilder p(name, Contract::make(request.collective, request.ranks, 1, true, request.root));
  const auto parallel = p.parallelize(request.channels);
  const Parents parents = parents_in(tree, request.ranks, request.root);
  if (request.collective == CollectiveKind::Reduce) {
    reduce_up(p, parents, 0, 0);
  } else {
    copy_down(p, parents, 0, 0);
  }
  return p.finish();
}

}  // namespace

Parents parents_in(RootedTree tree, int ranks, int root) {
  return rooted_at(ranks, root, [&](int rank) { return parent_of(tree, ranks, rank); });
}

namespace {

// Blocks to the children, or from them; the parent shares one of these blocks.
std::int64_t blocks_on_tree(RootedTree tree, const AlgorithmRequest& request) {
  std::vector<std::int64_t> children(static_cast<std::size_t>(request.ranks), 0);
  for (const int parent : parents_in(tree, request.ranks, request.root)) {
    if (parent != -1) ++children[static_cast<std::size_t>(parent)];
  }
  return request.channels * *std::max_element(children.begin(), children.end());
}

AlgorithmEntry rooted_tree_entry(RootedTree tree, const char* name, std::string description) {
  return {.name = name,
          .description = std::move(description),
          .collectives = {CollectiveKind::Broadcast, CollectiveKind::Reduce},
          .trace = [=](const AlgorithmRequest& request) { return on_tree(tree, name, request); },
          .thread_blocks =
              [=](const AlgorithmRequest& request) { return blocks_on_tree(tree, request); }};
}

}  // namespace

AlgorithmEntry pipeline_entry() {
  return rooted_tree_entry(RootedTree::Pipeline, "pipeline",
                           "a chain of the ranks that begins at the root; tiles follow each other");
}

AlgorithmEntry four_chains_entry() {
  return rooted_tree_entry(RootedTree::FourChains, "four-chains",
                           "four chains of the ranks, which meet at the root");
}

AlgorithmEntry binary_tree_entry() {
  return rooted_tree_entry(RootedTree::Binary, "binary-tree",
                           "a complete binary tree of the ranks, as OpenMPI numbers it");
}

AlgorithmEntry binomial_tree_entry() {
  return rooted_tree_entry(RootedTree::Binomial, "binomial-tree",
                           "a binomial tree of the ranks; log2(ranks) steps");
}

AlgorithmEntry knomial_tree_entry() {
  AlgorithmEntry entry = rooted_tree_entry(RootedTree::Knomial, "knomial-tree",
                                           "a k-nomial tree of the ranks of radix 4");
  entry.collectives = {CollectiveKind::Broadcast};
  return entry;
}

}  // namespace cclgym::algorithms
