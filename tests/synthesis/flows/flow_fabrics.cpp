#include "synthesis/flows/flow_fabrics.hpp"

#include <array>
#include <random>

#include "core/index.hpp"

namespace cclgym::test {

using synthesis::FlowEdge;
using synthesis::FlowGraph;

namespace {

constexpr std::array<std::array<int, 8>, 8> kDgx1{{{0, 2, 1, 1, 2, 0, 0, 0},
                                                   {2, 0, 1, 2, 0, 1, 0, 0},
                                                   {1, 1, 0, 2, 0, 0, 2, 0},
                                                   {1, 2, 2, 0, 0, 0, 0, 1},
                                                   {2, 0, 0, 0, 0, 2, 1, 1},
                                                   {0, 1, 0, 0, 2, 0, 1, 2},
                                                   {0, 0, 2, 0, 1, 1, 0, 2},
                                                   {0, 0, 0, 1, 1, 2, 2, 0}}};

FlowGraph with_nodes(std::string name, int ranks, int switches, double unit_Bps) {
  FlowGraph graph;
  graph.name = std::move(name);
  graph.ranks = ranks;
  graph.nodes = ranks + switches;
  graph.unit_Bps = unit_Bps;
  graph.computes.assign(at(graph.nodes), 0);
  return graph;
}

void add_dgx1(FlowGraph& graph, int first, std::int64_t units) {
  for (int source = 0; source < 8; ++source) {
    for (int target = 0; target < 8; ++target) {
      const int width = kDgx1[at(source)][at(target)];
      if (width > 0) graph.add(first + source, first + target, units * width);
    }
  }
}

}  // namespace

FlowGraph dgx1_graph() {
  FlowGraph graph = with_nodes("dgx1", 8, 0, 25e9);
  add_dgx1(graph, 0, 1);
  return graph;
}

FlowGraph ring_graph(int ranks) {
  FlowGraph graph = with_nodes("ring", ranks, 0, 1e9);
  for (int rank = 0; rank < ranks; ++rank) graph.add_duplex(rank, (rank + 1) % ranks, 1);
  return graph;
}

FlowGraph ndv2_graph(int servers) {
  FlowGraph graph = with_nodes("ndv2", 8 * servers, servers > 2 ? 1 : 0, 0.5e9);
  for (int server = 0; server < servers; ++server) add_dgx1(graph, 8 * server, 50);
  if (servers == 2) {
    graph.add(0, 9, 25);
    graph.add(8, 1, 25);
  } else if (servers > 2) {
    for (int server = 0; server < servers; ++server) {
      graph.add(8 * server, graph.ranks, 25);
      graph.add(graph.ranks, 8 * server + 1, 25);
    }
  }
  return graph;
}

FlowGraph dgx2_graph(int servers) {
  FlowGraph graph = with_nodes("dgx2", 16 * servers, servers, 0.5e9);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    graph.add_duplex(rank, graph.ranks + rank / 16, 250);
  }
  for (int rank = 1; rank < graph.ranks; rank += 2) {
    for (int server = 0; server < servers; ++server) {
      if (server != rank / 16) graph.add(rank, 16 * server + rank % 16 - 1, 25);
    }
  }
  return graph;
}

FlowGraph a100_graph(int servers) {
  FlowGraph graph = with_nodes("a100", 8 * servers, servers + (servers > 1 ? 2 : 0), 1e9);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    graph.add_duplex(rank, graph.ranks + rank / 8, 300);
    if (servers > 1) graph.add_duplex(rank, graph.ranks + servers + rank % 2, 25);
  }
  return graph;
}

FlowGraph chassis_graph(int chassis) {
  FlowGraph graph = with_nodes("chassis", 4 * chassis, 1, 12.5e9);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    graph.add_duplex(rank, rank - rank % 4 + (rank + 1) % 4, 4);
    graph.add_duplex(rank, graph.ranks, 1);
  }
  return graph;
}

FlowGraph without_edges(FlowGraph graph, int one, int other) {
  std::erase_if(graph.edges, [&](const FlowEdge& edge) {
    return (edge.source == one && edge.target == other) ||
           (edge.source == other && edge.target == one);
  });
  return graph;
}

FlowGraph random_flow_graph(std::uint64_t seed, int ranks, bool with_switch) {
  std::mt19937_64 random(seed);
  FlowGraph graph = with_nodes("random", ranks, with_switch ? 1 : 0, 1e9);
  const auto units = [&] { return static_cast<std::int64_t>(random() % 4) + 1; };
  const bool duplex = random() % 3 == 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    if (duplex) {
      graph.add_duplex(rank, next, units());
    } else {
      graph.add(rank, next, units());
    }
  }
  for (int k = 0; k < ranks; ++k) {
    const int source = static_cast<int>(random() % at(ranks));
    const int target = static_cast<int>(random() % at(ranks));
    if (source == target) continue;
    if (duplex) {
      graph.add_duplex(source, target, units());
    } else {
      graph.add(source, target, units());
    }
  }
  for (int rank = 0; with_switch && rank < ranks; ++rank) {
    if (rank < 2 || random() % 2 == 0) graph.add_duplex(rank, ranks, units());
  }
  return graph;
}

}  // namespace cclgym::test
