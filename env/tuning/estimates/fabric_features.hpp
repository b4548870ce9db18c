// Description of a machine for tuners: the topology fingerprint and the figures that bound every
// collective, all computed from the fabric.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "collectives/contract.hpp"
#include "cost_models/cost_model.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

enum class ServerShape : std::uint8_t {
  Flat,      ///< any two GPUs of a node are one hop apart, through switches (NVSwitch) or directly
  TwoBoard,  ///< several NVSwitches, each connected to only some GPUs (DGX-2)
  Mesh,      ///< some GPUs reach others only through a third GPU or over PCIe (DGX-1, Z52)
};
enum class NetworkShape : std::uint8_t {
  None,      ///< one node
  Switched,  ///< a star or a fat tree
  Dragonfly,
};

/// Cost of a protocol on a machine.
struct ProtocolFeatures {
  double alpha_s = 0;          ///< latency of one step between ranks 0 and 1
  double network_alpha_s = 0;  ///< latency between nodes; alpha_s if there is one node
  double wire_share = 1;       ///< bytes on the wire per byte of payload
};

struct FabricFeatures {
  ServerShape server = ServerShape::Flat;
  NetworkShape network = NetworkShape::None;
  int ranks = 1;
  int servers = 1;
  int nics = 0;              ///< NICs per node; 0: none, or a single node
  double nics_per_pair = 0;  ///< NICs per two GPUs (GC3: 1 on 16 V100 with 8 NICs, 2 on 8 A100)
  double diameter = 0;       ///< steps (SCCL's a_l); 0: not computed
  /// SCCL's b_l for AllGather, s per byte of chunk: a lower bound of the time to bring a GPU's
  /// chunk to all others; 0: not computed.
  double inverse_bisection_s_per_B = 0;
  double alpha_s = 0;          ///< latency of one step between ranks 0 and 1, protocol LL
  double network_alpha_s = 0;  ///< latency between nodes; 0: there is one node
  double rank_rate_Bps = 0;    ///< lower of a GPU's send and receive rates over its own links
  /// Size at which the bytes of one step take as long as its latency, B: alpha times the rate of
  /// the slower direction.
  double crossover_bytes = 0;
  /// True if switches copy and add (NVLink SHARP, SHARP of InfiniBand).
  bool sharp = false;
  std::array<ProtocolFeatures, 3> protocols{};  ///< by Protocol
  /// Seconds per byte on the busiest link if all of NCCL's rings are used equally: ring_s_per_B for
  /// bytes that go once around the rings, tree_s_per_B for an AllReduce on its trees (within a
  /// node, up and down a chain; between nodes, double binary trees).
  double ring_s_per_B = 0;
  double tree_s_per_B = 0;
  /// Seconds per byte of an AllToAll on the busiest link if each rank sends to every other one
  /// along the fabric's route.
  double direct_s_per_B = 0;
};

/// Alternative shapes of a call: along a ring, or in a logarithmic number of steps.
enum class PlanShape : std::uint8_t { Ring, Tree };

/// Time of a call by T = S alpha + bytes beta (SCCL section 2.4), s. Alpha and the bytes on the
/// wire depend on a protocol, and beta on the busiest link. S is the number of steps of NCCL's
/// ring, or of its trees (AllReduce: a chain within a node, a binary tree between nodes) and PAT
/// (AllGather, ReduceScatter); S = 1 for other collectives. Ignores channels and thread blocks: a
/// prior, not a prediction.
[[nodiscard]] double alpha_beta_time_s(const FabricFeatures& fabric, CollectiveKind collective,
                                       double bytes, PlanShape shape, Protocol protocol);

[[nodiscard]] FabricFeatures fabric_features(const Fabric& fabric, const CostModel& cost_model);

/// Bounds for all programs of a collective: no program takes fewer steps, or moves the data of a
/// call faster.
struct CollectiveBounds {
  double steps = 0;   ///< a_l; 0: not known
  double data_s = 0;  ///< b_l L, s
};
/// SCCL's bounds (section 3.3): an AllGather or ReduceScatter takes the diameter, and its data the
/// inverse bisection; an AllReduce twice that. Data of other collectives: the root of a Broadcast
/// or Reduce passes on all bytes over its own links; a rank of an AllToAll, and the root of a
/// Gather or Scatter, all but its own share; a rank of an AllToNext sends all bytes, in one step.
[[nodiscard]] CollectiveBounds collective_bounds(const FabricFeatures& fabric,
                                                 CollectiveKind collective, double bytes);

/// Seconds per byte of an AllToAll on the busiest link if every rank sends its parts to all others
/// along the fabric's routes.
[[nodiscard]] double direct_sends_s_per_B(const Fabric& fabric, const CostModel& cost_model);

/// Latency of a step of schedules that cross the machine: the larger of the latencies within and
/// between nodes with protocol LL, s. Priors and rewards use it as alpha.
[[nodiscard]] inline double prior_alpha_s(const FabricFeatures& fabric) {
  return std::max(fabric.alpha_s, fabric.network_alpha_s);
}

/// Share of the network traffic on a node's busiest NIC, relative to an equal share: 1 if all NICs
/// carry the same, the number of NICs if a single NIC carries everything. Computed for rings over
/// `channels` channels under the fabric's binding; 1 if there is one node.
[[nodiscard]] double nic_imbalance(const Fabric& fabric, int channels);

}  // namespace cclgym
