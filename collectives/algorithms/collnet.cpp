// CollNet: the switches of the network add what the nodes send and send the sum back (SHARP; NCCL,
// src/transport/coll_net.cc and src/graph/connect.cc of 2.8 to 2.30).
//
// collnet-chain (CollNetChain, the only CollNet of 2.8): the ranks of each node reduce a chunk per
// channel along a chain to its head, the switches add the chunks of the heads and return the sum,
// and the chain copies it down. Channel k begins its chains at rank k of each node, so that the
// heads share the NICs, or at the ranks where its ring enters the nodes.
//
// collnet-direct (CollNetDirect, 2.9 and newer): every rank of a node is a head, because the nodes
// of the shipped fabrics have a NIC per GPU; each adds its slice from all ranks of the node, the
// switches add the slices of the ranks i of all nodes, and each head copies the sum to the node.
// AllGather and ReduceScatter (2.20 and newer) have one of the two halves in the node, and the
// switches copy or add. The two halves of an AllReduce have separate channels, because NCCL has
// separate warps for them.
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

int nodes_of(const AlgorithmRequest& request) { return request.ranks / request.ranks_per_server; }

std::optional<std::string> check_several_nodes(const AlgorithmRequest& request) {
  if (nodes_of(request) > 1) return std::nullopt;
  return "all ranks are on one node; CollNet needs at least two";
}

/// The ranks of a node in the order of its chain, from the head.
std::vector<int> chain_of(const AlgorithmRequest& request, int node, int channel) {
  const int size = request.ranks_per_server;
  std::vector<int> chain;
  if (request.rings.empty()) {
    for (int place = 0; place < size; ++place) {
      chain.push_back(node * size + (place + channel) % size);
    }
    return chain;
  }
  const auto ring = static_cast<std::size_t>(channel) % request.rings.size();
  for (const int rank : request.rings[ring]) {
    if (rank / size == node) chain.push_back(rank);
  }
  return chain;
}

/// Adds chunk `index` of the heads in the network; all heads then have the sum.
void add_in_network(ProgramBuilder& p, const std::vector<int>& heads, int index, int channel) {
  std::vector<ChunkRef> others;
  for (std::size_t node = 1; node < heads.size(); ++node) {
    others.push_back(p.chunk(heads[node], Buffer::Input, index));
  }
  (void)p.chunk(heads.front(), Buffer::Input, index)
      .all_reduce_in_switch(others, {.channel = channel});
}

/// The ranks in the same place of all nodes, of which `node` is left out.
std::vector<int> other_heads(const AlgorithmRequest& request, int node, int place) {
  std::vector<int> heads;
  for (int other = 0; other < nodes_of(request); ++other) {
    if (other != node) heads.push_back(other * request.ranks_per_server + place);
  }
  return heads;
}

Program collnet_chain(const AlgorithmRequest& request) {
  ProgramBuilder p("collnet-chain", Contract::make(CollectiveKind::AllReduce, request.ranks,
                                                   request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    const OperationOptions on{.channel = channel};
    std::vector<std::vector<int>> chains;
    std::vector<int> heads;
    for (int node = 0; node < nodes_of(request); ++node) {
      const std::vector<int>& chain = chains.emplace_back(chain_of(request, node, channel));
      heads.push_back(chain.front());
      for (std::size_t i = chain.size() - 1; i > 0; --i) {
        const ChunkRef theirs = p.chunk(chain[i], Buffer::Input, channel);
        (void)p.chunk(chain[i - 1], Buffer::Input, channel).reduce(theirs, on);
      }
    }
    add_in_network(p, heads, channel, channel);
    for (const std::vector<int>& chain : chains) {
      for (std::size_t i = 1; i < chain.size(); ++i) {
        (void)p.chunk(chain[i - 1], Buffer::Input, channel)
            .copy(chain[i], Buffer::Input, channel, on);
      }
    }
  }
  return p.finish();
}

/// Head `place` of a node adds the node's chunks `index`.
void add_in_node(ProgramBuilder& p, const AlgorithmRequest& request, int node, int place, int index,
                 int channel) {
  const int size = request.ranks_per_server;
  ChunkRef sum = p.chunk(node * size + place, Buffer::Input, index);
  for (int i = 1; i < size; ++i) {
    const int rank = node * size + (place + i) % size;
    sum = sum.reduce(p.chunk(rank, Buffer::Input, index), {.channel = channel});
  }
}

/// Head `place` of a node copies its chunk `index` to the node.
void spread_in_node(ProgramBuilder& p, const AlgorithmRequest& request, int node, int place,
                    Buffer buffer, int index, int channel) {
  const int size = request.ranks_per_server;
  const ChunkRef sum = p.chunk(node * size + place, buffer, index);
  for (int i = 1; i < size; ++i) {
    (void)sum.copy(node * size + (place + i) % size, buffer, index, {.channel = channel});
  }
}

void direct_all_reduce(ProgramBuilder& p, const AlgorithmRequest& request, int place, int channel) {
  const int index = place * request.channels + channel;
  std::vector<int> heads;
  for (int node = 0; node < nodes_of(request); ++node) {
    heads.push_back(node * request.ranks_per_server + place);
    add_in_node(p, request, node, place, index, channel);
  }
  add_in_network(p, heads, index, channel);
  for (int node = 0; node < nodes_of(request); ++node) {
    spread_in_node(p, request, node, place, Buffer::Input, index, request.channels + channel);
  }
}

void direct_all_gather(ProgramBuilder& p, const AlgorithmRequest& request, int place, int channel) {
  for (int node = 0; node < nodes_of(request); ++node) {
    const int rank = node * request.ranks_per_server + place;
    const int index = rank * request.channels + channel;
    p.chunk(rank, Buffer::Output, index)
        .multicast(other_heads(request, node, place), Buffer::Output, index, {.channel = channel});
  }
  for (int slice = 0; slice < nodes_of(request); ++slice) {
    const int rank = slice * request.ranks_per_server + place;
    for (int node = 0; node < nodes_of(request); ++node) {
      spread_in_node(p, request, node, place, Buffer::Output, rank * request.channels + channel,
                     channel);
    }
  }
}

void direct_reduce_scatter(ProgramBuilder& p, const AlgorithmRequest& request, int place,
                           int channel) {
  for (int slice = 0; slice < nodes_of(request); ++slice) {
    const int owner = slice * request.ranks_per_server + place;
    const int index = owner * request.channels + channel;
    for (int node = 0; node < nodes_of(request); ++node) {
      add_in_node(p, request, node, place, index, channel);
    }
    std::vector<ChunkRef> theirs;
    for (const int head : other_heads(request, slice, place)) {
      theirs.push_back(p.chunk(head, Buffer::Input, index));
    }
    (void)p.chunk(owner, Buffer::Input, index).reduce_in_switch(theirs, {.channel = channel});
  }
}

Program collnet_direct(const AlgorithmRequest& request) {
  const bool both = request.collective == CollectiveKind::AllReduce;
  const int slices = both ? request.ranks_per_server : 1;
  ProgramBuilder p("collnet-direct", Contract::make(request.collective, request.ranks,
                                                    slices * request.channels, true));
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int place = 0; place < request.ranks_per_server; ++place) {
      if (both) {
        direct_all_reduce(p, request, place, channel);
      } else if (request.collective == CollectiveKind::AllGather) {
        direct_all_gather(p, request, place, channel);
      } else {
        direct_reduce_scatter(p, request, place, channel);
      }
    }
  }
  return p.finish();
}

// A rank in a chain has a block up and one down. The heads of the first node also have blocks to
// and from all other nodes.
std::int64_t collnet_chain_blocks(const AlgorithmRequest& request) {
  const std::int64_t size = request.ranks_per_server;
  const std::int64_t headed =
      request.rings.empty() ? (request.channels + size - 1) / size : request.channels;
  const std::int64_t inside = size > 1 ? 2 : 0;
  return request.channels * inside + headed * 2 * (nodes_of(request) - 1);
}

// Blocks to and from each rank of the node, for both halves, and blocks of the network: the first
// node's for an AllReduce, otherwise to and from all other nodes.
std::int64_t collnet_direct_blocks(const AlgorithmRequest& request) {
  const std::int64_t halves = request.collective == CollectiveKind::AllReduce ? 2 : 1;
  return request.channels *
         (halves * 2 * (request.ranks_per_server - 1) + 2 * (nodes_of(request) - 1));
}

}  // namespace

AlgorithmEntry collnet_chain_entry() {
  return {.name = "collnet-chain",
          .description =
              "network switches reduce and copy (SHARP); chains inside nodes, one head per channel",
          .collectives = {CollectiveKind::AllReduce},
          .check = check_several_nodes,
          .traits = {.runtime = Runtime::Nccl},
          .in_nccl = true,
          .switches = SwitchUse::Network,
          .ranks_per_unknown_server = 1,
          .trace = collnet_chain,
          .thread_blocks = collnet_chain_blocks};
}

AlgorithmEntry collnet_direct_entry() {
  return {.name = "collnet-direct",
          .description =
              "network switches reduce and copy (SHARP); inside nodes, each GPU adds and copies a "
              "slice",
          .collectives = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                          CollectiveKind::ReduceScatter},
          .check = check_several_nodes,
          .traits = {.runtime = Runtime::Nccl},
          .in_nccl = true,
          .switches = SwitchUse::Network,
          .ranks_per_unknown_server = 1,
          .trace = collnet_direct,
          .thread_blocks = collnet_direct_blocks};
}

}  // namespace cclgym::algorithms
