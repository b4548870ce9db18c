// What a tuner knows of a machine: the topology fingerprint and the figures that bound every
// collective on it, all computed from the fabric.
#pragma once

#include <array>
#include <cstdint>

#include "collectives/contract.hpp"
#include "cost_models/cost_model.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

enum class ServerShape : std::uint8_t {
  Flat,      ///< every two GPUs of a server are one hop apart, by switches (NVSwitch) or directly
  TwoBoard,  ///< several NVSwitch nodes, and not every GPU at each (DGX-2)
  Mesh,      ///< some GPUs reach each other through others or over PCIe only (DGX-1, Z52)
};
enum class NetworkShape : std::uint8_t {
  None,      ///< one server
  Switched,  ///< a star or a fat tree
  Dragonfly,
};

/// What a protocol costs on a machine.
struct ProtocolFeatures {
  double alpha_s = 0;          ///< of one step between ranks 0 and 1
  double network_alpha_s = 0;  ///< between servers; alpha_s if there is one
  double wire_share = 1;       ///< bytes on the wire by bytes of payload
};

struct FabricFeatures {
  ServerShape server = ServerShape::Flat;
  NetworkShape network = NetworkShape::None;
  int ranks = 1;
  int servers = 1;
  int nics = 0;              ///< of a server; 0: none, or one server
  double nics_per_pair = 0;  ///< NICs by two GPUs (GC3: 1 on 16 V100 with 8 NICs, 2 on 8 A100)
  double diameter = 0;       ///< steps (SCCL's a_l); 0: not computed
  /// SCCL's b_l for AllGather: a lower bound of the time that a GPU's chunk takes to all others,
  /// s/B of chunk; 0: not computed.
  double inverse_bisection_s_per_B = 0;
  double alpha_s = 0;          ///< latency of one step between ranks 0 and 1, protocol LL
  double network_alpha_s = 0;  ///< between servers; 0: there is one
  double rank_rate_Bps = 0;    ///< the least a GPU sends and receives at through its own links
  /// The size at which one step's bytes take as long as its latency: alpha times the rate of the
  /// slower way, B.
  double crossover_bytes = 0;
  /// Are there switches that copy and add (NVLink SHARP, SHARP of InfiniBand)?
  bool sharp = false;
  std::array<ProtocolFeatures, 3> protocols{};  ///< by Protocol
  /// Seconds that each byte takes on the busiest link, all of NCCL's rings used alike: for bytes
  /// that go once along the rings, and for an AllReduce of its trees (a chain in a server, up and
  /// down; double binary trees over servers).
  double ring_s_per_B = 0;
  double tree_s_per_B = 0;
};

/// Two ways to carry out a call: along a ring, or in a logarithmic number of steps.
enum class PlanShape : std::uint8_t { Ring, Tree };

/// T = S alpha + bytes beta of a call (SCCL section 2.4), alpha and bytes on the wire of a
/// protocol; S of NCCL's ring, or of its trees (AllReduce: a chain in a server, a binary tree over
/// servers) and PAT (AllGather, ReduceScatter); beta of the busiest link. Other collectives: one
/// step. Knows nothing of channels and thread blocks: a prior, not a prediction. s.
[[nodiscard]] double alpha_beta_time_s(const FabricFeatures& fabric, CollectiveKind collective,
                                       double bytes, PlanShape shape, Protocol protocol);

[[nodiscard]] FabricFeatures fabric_features(const Fabric& fabric, const CostModel& cost_model);

/// The largest share of what crosses the network that one NIC of a server carries, over an equal
/// share: 1 if all carry as much, the number of NICs if one carries all. For rings over this many
/// channels under the fabric's binding; 1 for one server.
[[nodiscard]] double nic_imbalance(const Fabric& fabric, int channels);

}  // namespace cclgym
