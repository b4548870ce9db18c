// Trees, given by the parent of every rank, and the transfer of one chunk up or down them. Internal
// to the algorithms.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithms/rank_group.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

/// Parent of every rank in a tree; -1 for the root.
using Parents = std::vector<int>;

/// All ranks of a tree, parents before children.
inline std::vector<int> top_down(const Parents& parents) {
  std::vector<std::vector<int>> children(parents.size());
  std::vector<int> order;
  for (int rank = 0; rank < std::ssize(parents); ++rank) {
    const int parent = parents[static_cast<std::size_t>(rank)];
    (parent == -1 ? order : children[static_cast<std::size_t>(parent)]).push_back(rank);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& below = children[static_cast<std::size_t>(order[i])];
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

/// Sums `count` chunks of all ranks at the root. `group`: the rank at each place of the tree.
inline void reduce_up(ProgramBuilder& p, const Parents& tree, const RankGroup& group, Buffer buffer,
                      int index, int count, int channel) {
  const std::vector<int> order = top_down(tree);
  for (auto child = order.rbegin(); child != order.rend(); ++child) {
    const int parent = tree[static_cast<std::size_t>(*child)];
    if (parent == -1) continue;
    const ChunkRef partial = p.chunk(group[*child], buffer, index, count);
    (void)p.chunk(group[parent], buffer, index, count).reduce(partial, {.channel = channel});
  }
}

/// Copies `count` chunks of the root to all ranks.
inline void copy_down(ProgramBuilder& p, const Parents& tree, const RankGroup& group, Buffer buffer,
                      int index, int count, int channel) {
  for (const int child : top_down(tree)) {
    const int parent = tree[static_cast<std::size_t>(child)];
    if (parent == -1) continue;
    (void)p.chunk(group[parent], buffer, index, count)
        .copy(group[child], buffer, index, {.channel = channel});
  }
}

/// The ranks of a tree over all ranks.
inline RankGroup all_of(const Parents& tree) { return {0, static_cast<int>(tree.size()), 1}; }

/// Sums one chunk of all ranks at the root.
inline void reduce_up(ProgramBuilder& p, const Parents& tree, int index, int channel) {
  reduce_up(p, tree, all_of(tree), Buffer::Input, index, 1, channel);
}

/// Copies the root's chunk to all ranks.
inline void copy_down(ProgramBuilder& p, const Parents& tree, int index, int channel) {
  copy_down(p, tree, all_of(tree), Buffer::Input, index, 1, channel);
}

/// Tree rooted at `root`, from the parent of each rank in the same tree rooted at 0 (-1 for none):
/// every rank is shifted by `root`.
template <typename ParentOf>
Parents rooted_at(int ranks, int root, const ParentOf& parent_of) {
  Parents parents;
  for (int rank = 0; rank < ranks; ++rank) {
    const int parent = parent_of((rank - root + ranks) % ranks);
    parents.push_back(parent == -1 ? -1 : (parent + root) % ranks);
  }
  return parents;
}

}  // namespace cclgym::algorithms
