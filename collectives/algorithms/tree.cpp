// Double binary tree AllReduce (Sanders, Speck and Träff, 2009) in NCCL's shape, and Broadcast and
// Reduce on one binary tree, for any number >= 2 of ranks.
//
// They run in place. In AllReduce, the first half of the channels carries tree 0 and the second
// half tree 1 (a single channel has one tree); one chunk per channel is reduced to the tree's root
// and copied down again. The vertices of the trees are nodes; the ranks of a node form a chain, in
// the order of the channel's ring or in that of the request (tree_orders). Its head is connected to
// the parent; the request's tree_children says whether the children are connected to the head or to
// the rank after it. (NCCL's latency of a tree is 2 * ((ranks per node - 1) * alpha inside +
// log2(nodes) * alpha across).) Without known nodes, each rank is a vertex. Broadcast and Reduce
// use tree 0 over all ranks, renumbered so that its root is the call's root, with one chunk per
// channel. Chunks are not cut further for pipelining: the runtime streams them in tiles.
#include <algorithm>
#include <array>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/outlines.hpp"
#include "collectives/algorithms/rooted_tree.hpp"

namespace cclgym::algorithms {

namespace {

/// NCCL's ncclGetBtree: the height of a rank in the tree is its number of trailing zero bits.
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

/// The ranks of each node in the order of the channel's chain, by default that of its ring.
std::vector<std::vector<int>> chains(const AlgorithmRequest& request, int channel) {
  const int size = std::max(1, request.ranks_per_server);
  std::vector<std::vector<int>> servers(static_cast<std::size_t>(request.ranks / size));
  if (!request.tree_orders.empty()) {
    const auto& order =
        request.tree_orders[static_cast<std::size_t>(channel) % request.tree_orders.size()];
    for (std::size_t server = 0; server < servers.size(); ++server) {
      for (const int place : order) {
        servers[server].push_back(static_cast<int>(server) * size + place);
      }
    }
    return servers;
  }
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
    const auto nodes = static_cast<int>(servers.size());
    const int above = double_tree(tree, nodes, static_cast<int>(server)).parent;
    int parent = -1;
    if (above != -1) {
      const std::vector<int>& upper = servers[static_cast<std::size_t>(above)];
      const bool first_child =
          double_tree(tree, nodes, above).children[0] == static_cast<int>(server);
      const auto place = static_cast<std::size_t>(request.tree_children[first_child ? 0 : 1]);
      parent = upper[std::min(place, upper.size() - 1)];
    }
    for (const int rank : chain) {
      parents[static_cast<std::size_t>(rank)] = parent;
      parent = rank;
    }
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

namespace {

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
  const Parents shape = rooted_at(request.ranks, request.root, [&](int rank) {
    return double_tree(0, request.ranks, rank).parent;
  });
  for (int channel = 0; channel < request.channels; ++channel) {
    if (request.collective == CollectiveKind::Reduce) reduce_up(p, shape, channel, channel);
    if (request.collective == CollectiveKind::Broadcast) copy_down(p, shape, channel, channel);
  }
  return p.finish();
}

/// Channels of the same tree are alike if the ranks of each node form the same chain.
DifferentChannels different_channels(const AlgorithmRequest& request) {
  if (request.collective != CollectiveKind::AllReduce) return {};
  if (request.channels % 2 == 1) return {request.channels, request.channels};
  std::vector<std::vector<std::vector<int>>> by_channel;
  for (int channel = 0; channel < request.channels; ++channel) {
    by_channel.push_back(chains(request, channel));
  }
  const auto chain_of = [&](int channel) -> const auto& {
    return by_channel[static_cast<std::size_t>(channel)];
  };
  const int period = least_period(request.channels, request.channels / 2, [&](int one, int other) {
    return chain_of(one) == chain_of(other);
  });
  return {.count = 2 * period, .period = period};
}

std::int64_t tree_blocks(const AlgorithmRequest& request) {
  const int n = request.ranks;
  if (request.collective != CollectiveKind::AllReduce) {
    return std::int64_t{request.channels} * (n <= 3 ? 1 : 2);
  }
  // Each neighbour has a block up and a block down; a block of a chain sends on the data it
  // received. Besides its chain, a rank has at most two neighbours in other nodes, unless all
  // neighbours of a node are at its head.
  const int inside = std::max(1, request.ranks_per_server);
  const std::int64_t across = double_tree_blocks(n / inside);
  if (inside == 1) return request.channels * across;
  const bool shared = request.tree_children != std::array{0, 0};
  return request.channels * ((shared ? std::min<std::int64_t>(across, 4) : across) + 2);
}

}  // namespace

std::int64_t double_tree_blocks(int nodes) {
  if (nodes == 1) return 0;
  return nodes == 2 ? 2 : (nodes < 6 ? 4 : 6);
}

AlgorithmEntry tree_entry() {
  return {
      .name = "tree",
      .description =
          "NCCL's double binary tree over nodes, half of the channels on each tree; chains inside "
          "nodes",
      .collectives = {CollectiveKind::AllReduce, CollectiveKind::Broadcast, CollectiveKind::Reduce},
      .traits = {.runtime = Runtime::Nccl, .tree_latency = true},
      .in_nccl = true,
      .ranks_per_unknown_server = 1,
      .trace = tree,
      .thread_blocks = tree_blocks,
      .different_channels = different_channels};
}

}  // namespace cclgym::algorithms
