// NVLS: the switches between the GPUs add and copy (NCCL 2.17, src/transport/nvls.cc; NVLink SHARP
// of third-generation NVSwitches). In AllReduce, rank r reads the sum of slice r over all ranks
// from the switches (multimem.ld_reduce) and stores it to all ranks (multimem.st). ReduceScatter is
// the first half, AllGather the second.
//
// It runs in place with one chunk per rank and channel, size / (ranks * channels) bytes. The second
// half has its own channels, because NCCL has separate warps for the two halves.
//
// Over several nodes, an AllReduce has a slice for each rank of a node: rank i of each node reads
// the slice's sum over the node, the switches of the network add the slices of the ranks i and send
// the sum back (SHARP), and rank i stores it to its node. AllGather and ReduceScatter over several
// nodes cross the switches of nodes and network in one transfer.
//
// nvls-tree runs NVLS in each node; then rank i of each node reduces and broadcasts its slice along
// a double binary tree over the ranks i of all nodes; then NVLS runs again (NCCL 2.18, NVLSTree).
#include <array>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// Ranks `first` to `first` + `count` - 1 without `self`.
std::vector<int> others(int first, int count, int self) {
  std::vector<int> ranks;
  for (int rank = first; rank < first + count; ++rank) {
    if (rank != self) ranks.push_back(rank);
  }
  return ranks;
}

void add_up(ProgramBuilder& p, int owner, const std::vector<int>& ranks, int index, int channel) {
  std::vector<ChunkRef> theirs;
  for (const int rank : ranks) theirs.push_back(p.chunk(rank, Buffer::Input, index));
  (void)p.chunk(owner, Buffer::Input, index).reduce_in_switch(theirs, {.channel = channel});
}

void tree_up(ProgramBuilder& p, const std::vector<TreeNeighbours>& tree, int node, int size,
             int head, int index, int channel) {
  const int rank = node * size + head;
  for (const int child : tree[static_cast<std::size_t>(node)].children) {
    if (child == -1) continue;
    tree_up(p, tree, child, size, head, index, channel);
    const ChunkRef theirs = p.chunk(child * size + head, Buffer::Input, index);
    (void)p.chunk(rank, Buffer::Input, index).reduce(theirs, {.channel = channel});
  }
}

void tree_down(ProgramBuilder& p, const std::vector<TreeNeighbours>& tree, int node, int size,
               int head, int index, int channel) {
  const int rank = node * size + head;
  for (const int child : tree[static_cast<std::size_t>(node)].children) {
    if (child == -1) continue;
    (void)p.chunk(rank, Buffer::Input, index)
        .copy(child * size + head, Buffer::Input, index, {.channel = channel});
    tree_down(p, tree, child, size, head, index, channel);
  }
}

/// The ranks `head` of all nodes, without that of the first.
std::vector<ChunkRef> heads_after_first(ProgramBuilder& p, const AlgorithmRequest& request,
                                        int head, int index) {
  std::vector<ChunkRef> heads;
  for (int rank = request.ranks_per_server + head; rank < request.ranks;
       rank += request.ranks_per_server) {
    heads.push_back(p.chunk(rank, Buffer::Input, index));
  }
  return heads;
}

Program nvls_over_nodes(const AlgorithmRequest& request) {
  const int size = request.ranks_per_server;
  ProgramBuilder p("nvls", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                          size * request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int head = 0; head < size; ++head) {
      const int index = head * request.channels + channel;
      for (int first = 0; size > 1 && first < request.ranks; first += size) {
        add_up(p, first + head, others(first, size, first + head), index, channel);
      }
      (void)p.chunk(head, Buffer::Input, index)
          .all_reduce_in_switch(heads_after_first(p, request, head, index), {.channel = channel});
      for (int first = 0; size > 1 && first < request.ranks; first += size) {
        p.chunk(first + head, Buffer::Input, index)
            .multicast(others(first, size, first + head), Buffer::Input, index,
                       {.channel = request.channels + channel});
      }
    }
  }
  return p.finish();
}

Program nvls(const AlgorithmRequest& request) {
  const int n = request.ranks;
  if (request.collective == CollectiveKind::AllReduce && n > request.ranks_per_server) {
    return nvls_over_nodes(request);
  }
  const bool reduces = request.collective != CollectiveKind::AllGather;
  const bool spreads = request.collective != CollectiveKind::ReduceScatter;
  const bool both = reduces && spreads;
  const Buffer buffer = reduces ? Buffer::Input : Buffer::Output;
  ProgramBuilder p("nvls", Contract::make(request.collective, n,
                                          both ? n * request.channels : request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int rank = 0; rank < n; ++rank) {
      const int index = rank * request.channels + channel;
      const std::vector<int> ranks = others(0, n, rank);
      if (reduces) add_up(p, rank, ranks, index, channel);
      if (spreads) {
        p.chunk(rank, buffer, index)
            .multicast(ranks, buffer, index,
                       {.channel = both ? request.channels + channel : channel});
      }
    }
  }
  return p.finish();
}

Program nvls_tree(const AlgorithmRequest& request) {
  const int size = request.ranks_per_server;
  const int servers = request.ranks / size;
  ProgramBuilder p("nvls-tree", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                               size * request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    const int number = 2 * channel < request.channels ? 0 : 1;
    std::vector<TreeNeighbours> tree;
    int root = 0;
    for (int server = 0; server < servers; ++server) {
      tree.push_back(double_tree(number, servers, server));
      if (tree.back().parent == -1) root = server;
    }
    for (int head = 0; head < size; ++head) {
      const int index = head * request.channels + channel;
      for (int server = 0; size > 1 && server < servers; ++server) {
        const int owner = server * size + head;
        add_up(p, owner, others(server * size, size, owner), index, channel);
      }
      tree_up(p, tree, root, size, head, index, channel);
      tree_down(p, tree, root, size, head, index, channel);
      for (int server = 0; size > 1 && server < servers; ++server) {
        const int owner = server * size + head;
        p.chunk(owner, Buffer::Input, index)
            .multicast(others(server * size, size, owner), Buffer::Input, index,
                       {.channel = request.channels + channel});
      }
    }
  }
  return p.finish();
}

// Blocks to and from each other rank, for both halves; over several nodes, of the node for both
// halves, and of the first node's rank to and from all other nodes.
std::int64_t nvls_blocks(const AlgorithmRequest& request) {
  if (request.collective == CollectiveKind::AllReduce && request.ranks > request.ranks_per_server) {
    const int nodes = request.ranks / request.ranks_per_server;
    return request.channels * (4 * (request.ranks_per_server - 1) + 2 * (nodes - 1));
  }
  const std::int64_t halves = request.collective == CollectiveKind::AllReduce ? 2 : 1;
  return request.channels * halves * 2 * (request.ranks - 1);
}

// Blocks of NVLS in the node, for both halves, and blocks of a vertex of the tree.
std::int64_t nvls_tree_blocks(const AlgorithmRequest& request) {
  const std::int64_t inside = request.ranks_per_server;
  const int servers = request.ranks / request.ranks_per_server;
  return request.channels * (4 * (inside - 1) + double_tree_blocks(servers));
}

}  // namespace

AlgorithmEntry nvls_entry() {
  return {
      .name = "nvls",
      .description =
          "NVSwitches reduce and copy (NVLink SHARP); each GPU sends and receives its data once",
      .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                      CollectiveKind::ReduceScatter},
      .traits = {.runtime = Runtime::Nccl},
      .in_nccl = true,
      .switches = SwitchUse::Everywhere,
      .trace = nvls,
      .thread_blocks = nvls_blocks};
}

AlgorithmEntry nvls_tree_entry() {
  return {.name = "nvls-tree",
          .description = "nvls in each node, NCCL's double binary trees between the nodes",
          .collectives = {CollectiveKind::AllReduce},
          .traits = {.runtime = Runtime::Nccl},
          .in_nccl = true,
          .switches = SwitchUse::InServers,
          .trace = nvls_tree,
          .thread_blocks = nvls_tree_blocks};
}

}  // namespace cclgym::algorithms
