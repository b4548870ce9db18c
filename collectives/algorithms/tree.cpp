// Double binary tree AllReduce (Sanders, Speck and Träff, 2009; NCCL's shape), and Broadcast and
// Reduce on one binary tree. Any ranks >= 2.
//
// In place. AllReduce: each channel carries both trees, each with half of the channel's data: one
// chunk a tree and channel, size / (2 * channels) bytes, reduced up to the tree's root and copied
// down again. Broadcast and Reduce: tree 0, renumbered so that its root is the call's root; one
// chunk a channel. A chunk is not cut further for pipelining: the runtime streams it in tiles.
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// NCCL's ncclGetBtree: the height of a rank in the tree is the number of its trailing zero bits.
TreeNeighbours binary_tree(int ranks, int rank) {
  TreeNeighbours result;
  int bit = 1;
  while (bit < ranks && (rank & bit) == 0) bit *= 2;
  if (rank == 0) {  // the root has one child
    if (ranks > 1) result.children[1] = bit / 2;
    return result;
  }
  result.parent = (rank ^ bit) | (2 * bit);
  if (result.parent >= ranks) result.parent = rank ^ bit;
  int step = bit / 2;
  if (step == 0) return result;
  result.children[0] = rank - step;
  while (step > 0 && rank + step >= ranks) step /= 2;
  if (step > 0) result.children[1] = rank + step;
  return result;
}

/// Applies a renumbering to the neighbours.
template <typename Renumber>
TreeNeighbours renumbered(TreeNeighbours tree, const Renumber& renumber) {
  for (int* rank : {&tree.parent, &tree.children[0], &tree.children[1]}) {
    if (*rank != -1) *rank = renumber(*rank);
  }
  return tree;
}

/// All ranks of a tree, parents before children.
std::vector<int> top_down(const std::vector<TreeNeighbours>& tree) {
  std::vector<int> order;
  for (int rank = 0; rank < std::ssize(tree); ++rank) {
    if (tree[static_cast<std::size_t>(rank)].parent == -1) order.push_back(rank);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int child : tree[static_cast<std::size_t>(order[i])].children) {
      if (child != -1) order.push_back(child);
    }
  }
  return order;
}

/// Adds up one chunk of all ranks in the root's.
void reduce_up(ProgramBuilder& p, const std::vector<TreeNeighbours>& tree, int index, int channel) {
  const std::vector<int> order = top_down(tree);
  for (auto child = order.rbegin(); child != order.rend(); ++child) {
    const int parent = tree[static_cast<std::size_t>(*child)].parent;
    if (parent == -1) continue;
    const ChunkRef partial = p.chunk(*child, Buffer::Input, index);
    (void)p.chunk(parent, Buffer::Input, index).reduce(partial, {.channel = channel});
  }
}

/// Copies the root's chunk to all.
void copy_down(ProgramBuilder& p, const std::vector<TreeNeighbours>& tree, int index, int channel) {
  for (const int child : top_down(tree)) {
    const int parent = tree[static_cast<std::size_t>(child)].parent;
    if (parent == -1) continue;
    (void)p.chunk(parent, Buffer::Input, index)
        .copy(child, Buffer::Input, index, {.channel = channel});
  }
}

std::vector<TreeNeighbours> whole_tree(int tree, int ranks) {
  std::vector<TreeNeighbours> result;
  for (int rank = 0; rank < ranks; ++rank) result.push_back(double_tree(tree, ranks, rank));
  return result;
}

/// Tree 0 with every rank moved on by `root`.
std::vector<TreeNeighbours> tree_of_root(int ranks, int root) {
  std::vector<TreeNeighbours> result;
  for (int rank = 0; rank < ranks; ++rank) {
    const TreeNeighbours original = double_tree(0, ranks, (rank - root + ranks) % ranks);
    result.push_back(renumbered(original, [&](int other) { return (other + root) % ranks; }));
  }
  return result;
}

}  // namespace

TreeNeighbours double_tree(int tree, int ranks, int rank) {
  if (tree == 0) return binary_tree(ranks, rank);
  if (ranks % 2 == 1) {
    return renumbered(binary_tree(ranks, (rank - 1 + ranks) % ranks),
                      [&](int other) { return (other + 1) % ranks; });
  }
  return renumbered(binary_tree(ranks, ranks - 1 - rank),
                    [&](int other) { return ranks - 1 - other; });
}

Program tree(const AlgorithmRequest& request) {
  const bool both = request.collective == CollectiveKind::AllReduce;
  const int chunks = (both ? 2 : 1) * request.channels;
  ProgramBuilder p("tree",
                   Contract::make(request.collective, request.ranks, chunks, true, request.root));
  if (both) {
    for (int number = 0; number < 2; ++number) {
      const auto shape = whole_tree(number, request.ranks);
      for (int channel = 0; channel < request.channels; ++channel) {
        reduce_up(p, shape, 2 * channel + number, channel);
        copy_down(p, shape, 2 * channel + number, channel);
      }
    }
    return p.finish();
  }
  const auto shape = tree_of_root(request.ranks, request.root);
  for (int channel = 0; channel < request.channels; ++channel) {
    if (request.collective == CollectiveKind::Reduce) reduce_up(p, shape, channel, channel);
    if (request.collective == CollectiveKind::Broadcast) copy_down(p, shape, channel, channel);
  }
  return p.finish();
}

}  // namespace cclgym::algorithms
