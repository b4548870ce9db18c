// Double binary tree AllReduce (Sanders, Speck and Träff, 2009) in NCCL's shape, and Broadcast and
// Reduce on one binary tree. Any ranks >= 2.
//
// In place. AllReduce: the first half of the channels carries tree 0, the second half tree 1; one
// chunk a channel, reduced up to the tree's root and copied down again. With one channel there is
// one tree. The nodes of the trees are servers; the ranks of a server are a chain, in the order
// of the channel's ring, whose head alone crosses the network (NCCL, src/graph/connect.cc; its
// latency of a tree is 2 * ((ranks a server - 1) * alpha inside + log2(servers) * alpha across)).
// Where no servers are known, each rank is a node. Broadcast and Reduce: tree 0 over all ranks,
// renumbered so that its root is the call's root; one chunk a channel. A chunk is not cut further
// for pipelining: the runtime streams it in tiles.
#include <algorithm>
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

/// A tree as the parent of every rank; -1: the root.
using Parents = std::vector<int>;

/// All ranks of a tree, parents before children.
std::vector<int> top_down(const Parents& parents) {
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

/// Adds up one chunk of all ranks in the root's.
void reduce_up(ProgramBuilder& p, const Parents& tree, int index, int channel) {
  const std::vector<int> order = top_down(tree);
  for (auto child = order.rbegin(); child != order.rend(); ++child) {
    const int parent = tree[static_cast<std::size_t>(*child)];
    if (parent == -1) continue;
    const ChunkRef partial = p.chunk(*child, Buffer::Input, index);
    (void)p.chunk(parent, Buffer::Input, index).reduce(partial, {.channel = channel});
  }
}

/// Copies the root's chunk to all.
void copy_down(ProgramBuilder& p, const Parents& tree, int index, int channel) {
  for (const int child : top_down(tree)) {
    const int parent = tree[static_cast<std::size_t>(child)];
    if (parent == -1) continue;
    (void)p.chunk(parent, Buffer::Input, index)
        .copy(child, Buffer::Input, index, {.channel = channel});
  }
}

/// The ranks of each server in the order in which the channel's ring visits them.
std::vector<std::vector<int>> chains(const AlgorithmRequest& request, int channel) {
  const int size = std::max(1, request.ranks_per_server);
  std::vector<std::vector<int>> servers(static_cast<std::size_t>(request.ranks / size));
  for (int place = 0; place < request.ranks; ++place) {
    const int rank = request.rings.empty()
                         ? place / size * size + (place + channel) % size
                         : request.rings[static_cast<std::size_t>(channel) % request.rings.size()]
                                        [static_cast<std::size_t>(place)];
    servers[static_cast<std::size_t>(rank / size)].push_back(rank);
  }
  return servers;
}

Parents double_tree_of_chains(const AlgorithmRequest& request, int tree, int channel) {
  const auto servers = chains(request, channel);
  Parents parents(static_cast<std::size_t>(request.ranks), -1);
  for (std::size_t server = 0; server < servers.size(); ++server) {
    const std::vector<int>& chain = servers[server];
    const int above =
        double_tree(tree, static_cast<int>(servers.size()), static_cast<int>(server)).parent;
    int parent = above == -1 ? -1 : servers[static_cast<std::size_t>(above)].front();
    for (const int rank : chain) {
      parents[static_cast<std::size_t>(rank)] = parent;
      parent = rank;
    }
  }
  return parents;
}

/// Tree 0 with every rank moved on by `root`.
Parents tree_of_root(int ranks, int root) {
  Parents parents;
  for (int rank = 0; rank < ranks; ++rank) {
    const int parent = double_tree(0, ranks, (rank - root + ranks) % ranks).parent;
    parents.push_back(parent == -1 ? -1 : (parent + root) % ranks);
  }
  return parents;
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
  ProgramBuilder p("tree", Contract::make(request.collective, request.ranks, request.channels, true,
                                          request.root));
  if (both) {
    for (int channel = 0; channel < request.channels; ++channel) {
      const int number = 2 * channel < request.channels ? 0 : 1;
      const Parents shape = double_tree_of_chains(request, number, channel);
      reduce_up(p, shape, channel, channel);
      copy_down(p, shape, channel, channel);
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
