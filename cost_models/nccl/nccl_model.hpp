// NCCL's estimates of each algorithm and protocol, by release. Internal to this layer.
//
// Units (microseconds and GB/s) and the order of operations are NCCL's, so that estimates are equal
// here where they are equal in NCCL. NCCL computes in single precision, cclgym in double.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_constants.hpp"
#include "cost_models/nccl/nccl_estimate.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym::nccl {

using ByProtocol = std::array<double, kProtocols>;  ///< LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, kNcclAlgorithms>;
using ByLink = std::array<ByAlgorithm, 3>;  ///< NVLink, PCIe, network
using ByNodes = std::array<double, 3>;      ///< 1, 2, more nodes
using ByGpu = std::array<ByNodes, 4>;       ///< Volta, Ampere, Hopper, Blackwell

inline constexpr std::size_t kNetworkRow = 2;  ///< row of ByLink

using Estimate = NcclEstimate;
using Table = NcclEstimates;

/// Estimates that NCCL computes when a communicator is created (ncclTopoTuneModel).
[[nodiscard]] Table estimates_2_8(const NcclComm& comm);
[[nodiscard]] Table estimates_2_18(const NcclVersion& version, const NcclComm& comm);
[[nodiscard]] Table estimates_2_23(const NcclVersion& version, const NcclComm& comm,
                                   const NcclConstants& constants);
[[nodiscard]] Table estimates(const NcclVersion& version, const NcclComm& comm);

/// Releases from 2.23 on share one set of formulas; 2.18 to 2.22 share another.
inline constexpr NcclVersion kNewFormulas{2, 23, 0};

// Parts that the formulas of all releases share.

template <class Enum>
[[nodiscard]] constexpr std::size_t index(Enum value) {
  return static_cast<std::size_t>(value);
}

/// Floor of the binary logarithm; 0 for 0.
[[nodiscard]] constexpr int log2_floor(std::uint64_t value) {
  return value == 0 ? 0 : static_cast<int>(std::bit_width(value)) - 1;
}

/// Quantities that all formulas use.
struct Shape {
  explicit Shape(const NcclComm& comm)
      : ranks(comm.ranks),
        nodes(comm.nodes),
        ranks_per_node(comm.ranks_per_node()),
        whole_ranks_per_node(comm.ranks / comm.nodes),
        log2_nodes(log2_floor(static_cast<std::uint64_t>(comm.nodes))),
        nodes_column(static_cast<std::size_t>(std::min(comm.nodes - 1, 2))) {}

  int ranks;
  int nodes;
  double ranks_per_node;
  int whole_ranks_per_node;
  int log2_nodes;
  std::size_t nodes_column;  ///< column of ByNodes
};

/// Number of steps of a ring over all ranks.
[[nodiscard]] constexpr int ring_steps(NcclCollective collective, int ranks) {
  if (collective == NcclCollective::AllReduce) return 2 * (ranks - 1);
  if (collective == NcclCollective::AllGather || collective == NcclCollective::ReduceScatter) {
    return ranks - 1;
  }
  return ranks;
}

/// Row of ByGpu, for a release that knows GPUs up to `newest`.
[[nodiscard]] constexpr std::size_t gpu_row(int compute_capability, std::size_t newest) {
  const std::size_t row = compute_capability >= 100  ? 3
                          : compute_capability >= 90 ? 2
                          : compute_capability >= 80 ? 1
                                                     : 0;
  return std::min(row, newest);
}

/// True for the two collectives that work on one slice per rank.
[[nodiscard]] constexpr bool sliced(NcclCollective collective) {
  return collective == NcclCollective::AllGather || collective == NcclCollective::ReduceScatter;
}
[[nodiscard]] constexpr bool rooted(NcclCollective collective) {
  return collective == NcclCollective::Broadcast || collective == NcclCollective::Reduce;
}

/// Latency of Ring Broadcast and Reduce beyond the base, us. It is one step if all channels have
/// the GPUs in the same order, otherwise all steps; a step of Simple then has Tree's latency.
[[nodiscard]] inline double rooted_ring_latency_us(const ByLink& latency, const NcclGraph& graph,
                                                   int nodes, int steps, Protocol protocol) {
  const std::size_t link = nodes == 1 ? index(graph.link) : kNetworkRow;
  if (graph.same_channels) return latency[link][index(NcclAlgorithm::Ring)][index(protocol)];
  const NcclAlgorithm chunk =
      protocol == Protocol::Simple ? NcclAlgorithm::Tree : NcclAlgorithm::Ring;
  return steps * latency[link][index(chunk)][index(protocol)];
}

/// Cost of posting to the network for a step inside a node, us; three times as much for Simple.
[[nodiscard]] constexpr double network_overhead_us(const NcclComm& comm, Protocol protocol) {
  if (comm.nodes == 1) return 0;
  return (comm.cpu == NcclCpu::Amd ? 2.0 : 1.0) * (protocol == Protocol::Simple ? 3 : 1);
}

/// Estimates of a model with the functions offered(collective, algorithm, protocol) and
/// estimate(collective, algorithm, protocol).
template <class Model>
[[nodiscard]] Table table_of(const Model& model) {
  Table table{};
  for (std::size_t c = 0; c < kNcclCollectives; ++c) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const auto collective = static_cast<NcclCollective>(c);
        const auto algorithm = static_cast<NcclAlgorithm>(a);
        if (!model.offered(collective, algorithm, protocol)) continue;
        table[c][a][index(protocol)] = model.estimate(collective, algorithm, protocol);
      }
    }
  }
  return table;
}

}  // namespace cclgym::nccl
