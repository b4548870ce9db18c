// Random flow graphs that are small enough to try all cuts.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/index.hpp"
#include "synthesis/throughput/published_graphs.hpp"

namespace cclgym::test {

/// A connected graph of ranks and switches: a duplex ring through all nodes in random order, and
/// random links of 1 to 4 units; without `duplex`, some of them have one direction only.
inline synthesis::FlowGraph random_graph(std::mt19937_64& random, int ranks, int switches,
                                         bool duplex) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  synthesis::FlowGraph graph = empty_graph("random", ranks, 1);
  for (int k = 0; k < switches; ++k) add_switch(graph);
  std::vector<int> order;
  for (int node = 0; node < graph.nodes; ++node) {
    order.insert(order.begin() + below(node + 1), node);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    graph.add_duplex(order[k], order[(k + 1) % order.size()], 1 + below(4));
  }
  for (int k = below(2 * graph.nodes + 1); k > 0; --k) {
    const int one = below(graph.nodes);
    const int other = below(graph.nodes);
    if (one == other) continue;
    const int units = 1 + below(4);
    graph.add(one, other, units);
    if (duplex || below(3) > 0) graph.add(other, one, units);
  }
  return graph;
}

/// A strongly connected graph of GPUs, perhaps with a switch whose capacities are balanced.
inline synthesis::FlowGraph random_flow_graph(std::uint64_t seed, int ranks, bool with_switch) {
  std::mt19937_64 random(seed);
  synthesis::FlowGraph graph = empty_graph("random", ranks, 1e9);
  if (with_switch) add_switch(graph);
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
