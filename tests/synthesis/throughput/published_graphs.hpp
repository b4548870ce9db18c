// Graphs of published fabrics, as ForestColl and TE-CCL model them, for tests of throughput.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/index.hpp"
#include "synthesis/flow_graph.hpp"

namespace cclgym::test {

/// Units of 25 GB/s between the GPUs of a DGX-1 (SCCL, Figure 1).
inline constexpr std::array<std::string_view, 8> kDgx1Units{
    "02112000", "20120100", "11020020", "12200001", "20000211", "01002012", "00201102", "00011220"};

/// Units of 50 GB/s between the 16 dies of an MI250 server (ForestColl's topology).
inline constexpr std::array<std::string_view, 16> kMi250Units{
    "0400200010000000", "4000010001100000", "0004001001100000", "0040000200010000",
    "2000041000000000", "0100401100000000", "0010110400000000", "0002014000000000",
    "1000000004002000", "0110000040000100", "0110000000040010", "0001000000400002",
    "0000000020000410", "0000000001004011", "0000000000101104", "0000000000020140"};

inline synthesis::FlowGraph empty_graph(const std::string& name, int ranks, double unit_Bps) {
  synthesis::FlowGraph graph;
  graph.name = name;
  graph.ranks = graph.nodes = ranks;
  graph.unit_Bps = unit_Bps;
  graph.computes.assign(at(ranks), 0);
  return graph;
}

inline int add_switch(synthesis::FlowGraph& graph) {
  graph.computes.push_back(0);
  return graph.nodes++;
}

template <std::size_t Count>
void add_matrix(synthesis::FlowGraph& graph, const std::array<std::string_view, Count>& units,
                int first, int factor) {
  for (std::size_t a = 0; a < Count; ++a) {
    for (std::size_t b = 0; b < Count; ++b) {
      if (units[a][b] == '0') continue;
      graph.add(first + static_cast<int>(a), first + static_cast<int>(b),
                factor * (units[a][b] - '0'));
    }
  }
}

/// `units`: link units of 25 GB/s.
inline synthesis::FlowGraph dgx1_graph(int units = 25) {
  synthesis::FlowGraph graph = empty_graph("dgx1", 8, 25e9 / units);
  add_matrix(graph, kDgx1Units, 0, units);
  return graph;
}

inline synthesis::FlowGraph ring_graph(int ranks) {
  synthesis::FlowGraph graph = empty_graph("ring", ranks, 1e9);
  for (int rank = 0; rank < ranks; ++rank) graph.add_duplex(rank, (rank + 1) % ranks, 1);
  return graph;
}

/// TE-CCL's NDv2: in units of 0.5 GB/s, GPU 0 of a chassis sends to GPU 1 of others, at 12.5 GB/s.
inline synthesis::FlowGraph ndv2_graph(int chassis) {
  synthesis::FlowGraph graph = empty_graph("ndv2", 8 * chassis, 0.5e9);
  for (int k = 0; k < chassis; ++k) add_matrix(graph, kDgx1Units, 8 * k, 50);
  if (chassis == 2) {
    graph.add(0, 9, 25);
    graph.add(8, 1, 25);
    return graph;
  }
  const int hub = add_switch(graph);
  for (int k = 0; k < chassis; ++k) {
    graph.add(8 * k, hub, 25);
    graph.add(hub, 8 * k + 1, 25);
  }
  return graph;
}

/// TE-CCL's DGX-2: in units of 0.5 GB/s; odd GPUs send to even GPUs of other chassis.
inline synthesis::FlowGraph dgx2_graph(int chassis) {
  synthesis::FlowGraph graph = empty_graph("dgx2", 16 * chassis, 0.5e9);
  for (int k = 0; k < chassis; ++k) {
    const int hub = add_switch(graph);
    for (int gpu = 0; gpu < 16; ++gpu) graph.add_duplex(16 * k + gpu, hub, 250);
  }
  for (int a = 0; a < chassis; ++a) {
    for (int b = 0; b < chassis; ++b) {
      for (int gpu = 1; gpu < 16 && a != b; gpu += 2) graph.add(16 * a + gpu, 16 * b + gpu - 1, 25);
    }
  }
  return graph;
}

/// ForestColl's A100 servers, in GB/s: an NVSwitch, a NIC per GPU, and two InfiniBand switches for
/// the GPUs with even and odd numbers. `without_nic`: that rank has lost its NIC.
inline synthesis::FlowGraph a100_graph(int servers, int without_nic = -1) {
  synthesis::FlowGraph graph = empty_graph("a100", 8 * servers, 1e9);
  std::array<int, 2> network{};
  if (servers > 1) network = {add_switch(graph), add_switch(graph)};
  for (int server = 0; server < servers; ++server) {
    const int hub = add_switch(graph);
    for (int rank = 8 * server; rank < 8 * server + 8; ++rank) {
      graph.add_duplex(rank, hub, 300);
      if (servers == 1 || rank == without_nic) continue;
      const int nic = add_switch(graph);
      graph.add_duplex(rank, nic, 25);
      graph.add_duplex(nic, network[at(rank % 2)], 25);
    }
  }
  return graph;
}

/// ForestColl's MI250 servers, in GB/s, on one InfiniBand switch.
inline synthesis::FlowGraph mi250_graph(int servers) {
  synthesis::FlowGraph graph = empty_graph("mi250", 16 * servers, 1e9);
  const int network = servers > 1 ? add_switch(graph) : -1;
  for (int server = 0; server < servers; ++server) {
    for (std::size_t a = 0; a < 16; ++a) {
      for (std::size_t b = 0; b < 16; ++b) {
        const int units = std::max(kMi250Units[a][b], kMi250Units[b][a]) - '0';
        const int first = 16 * server;
        if (units > 0)
          graph.add(first + static_cast<int>(a), first + static_cast<int>(b), 50 * units);
      }
      if (network >= 0) graph.add_duplex(16 * server + static_cast<int>(a), network, 16);
    }
  }
  return graph;
}

/// Chassis on one switch: a ring of 4 GPUs, or a pair, of 50 GB/s, and 12.5 GB/s from each GPU to
/// the switch. A stand-in for TE-CCL's Internal 1 and 2, which are not public.
inline synthesis::FlowGraph chassis_graph(int chassis, int gpus = 4) {
  synthesis::FlowGraph graph = empty_graph("chassis", gpus * chassis, 12.5e9);
  const int hub = add_switch(graph);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    const int next = rank - rank % gpus + (rank + 1) % gpus;
    if (gpus > 2 || rank < next) graph.add_duplex(rank, next, 4);
    graph.add_duplex(rank, hub, 1);
  }
  return graph;
}

/// The graph without the edges between two nodes.
inline synthesis::FlowGraph without_edges(synthesis::FlowGraph graph, int one, int other) {
  std::erase_if(graph.edges, [&](const synthesis::FlowEdge& edge) {
    return (edge.source == one && edge.target == other) ||
           (edge.source == other && edge.target == one);
  });
  return graph;
}

}  // namespace cclgym::test
