// Transfer graphs built by hand, without the compiler, to measure the cost of an engine alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym::bench {

/// Ring AllReduce of `bytes` over `ranks` ranks: 2 * (ranks - 1) steps; in each step each rank
/// sends bytes / ranks to its right neighbour over its own link. A send waits for the chunk that
/// came from the left in the previous step, and for the rank's own previous send. If `folded`, one
/// graph node per rank fires once per step, instead of one node per rank and step.
inline std::shared_ptr<const TransferGraph> ring_allreduce_graph(std::int32_t ranks, double bytes,
                                                                 double alpha_s,
                                                                 double bandwidth_Bps,
                                                                 bool folded) {
  auto graph = std::make_shared<TransferGraph>();
  graph->set_link_capacities(std::vector<double>(static_cast<std::size_t>(ranks), bandwidth_Bps));
  const std::int32_t steps = 2 * (ranks - 1);
  const double chunk = bytes / ranks;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    graph->add_route({&rank, 1});
  }
  if (folded) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      graph->add_flow(rank, chunk, alpha_s, kNoRateCap, steps);
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      graph->add_edge(rank, (rank + 1) % ranks, 1);
    }
  } else {
    for (std::int32_t step = 0; step < steps; ++step) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        graph->add_flow(rank, chunk, alpha_s);
      }
    }
    for (std::int32_t step = 0; step + 1 < steps; ++step) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        graph->add_edge(step * ranks + rank, (step + 1) * ranks + (rank + 1) % ranks);
        graph->add_edge(step * ranks + rank, (step + 1) * ranks + rank);
      }
    }
  }
  graph->finish();
  return graph;
}

/// Harder variant of ring_allreduce_graph: `channels` rings in the same direction share each link,
/// and every chunk is up to 5 % longer or shorter (by a fixed sequence), so that few events
/// coincide and every event changes rates.
inline std::shared_ptr<const TransferGraph> jittered_ring_graph(std::int32_t ranks,
                                                                std::int32_t channels, double bytes,
                                                                double alpha_s,
                                                                double bandwidth_Bps) {
  auto graph = std::make_shared<TransferGraph>();
  graph->set_link_capacities(std::vector<double>(static_cast<std::size_t>(ranks), bandwidth_Bps));
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    graph->add_route({&rank, 1});
  }
  const std::int32_t steps = 2 * (ranks - 1);
  const double chunk = bytes / ranks / channels;
  std::uint64_t bits = 1;
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    const std::int32_t first = graph->size();
    for (std::int32_t step = 0; step < steps; ++step) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        bits = bits * 6364136223846793005U + 1442695040888963407U;
        const double jitter = static_cast<double>(bits >> 11U) * 0x1p-53 - 0.5;
        graph->add_flow(rank, chunk * (1 + 0.1 * jitter), alpha_s);
      }
    }
    for (std::int32_t step = 0; step + 1 < steps; ++step) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const std::int32_t node = first + step * ranks + rank;
        graph->add_edge(node, first + (step + 1) * ranks + (rank + 1) % ranks);
        graph->add_edge(node, node + ranks);
      }
    }
  }
  graph->finish();
  return graph;
}

}  // namespace cclgym::bench
