// RCCL's default choice of algorithm, protocol, channels and chunks for a call, by RCCL's own cost
// model: RCCL 2.20.5 of ROCm 6.2.0, and 2.21.5, which has other constants for MI300X.
//
// RCCL does not search for rings on nodes that it knows. It has a list of nodes, each with its
// rings and with one of six tuning models, whose constants replace NCCL's (src/graph/rome_models.cc
// and src/graph/tuning.cc). docs/pccl.md says which nodes are taken from that list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cost_models/nccl/nccl_default.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Releases whose tuning models are here.
enum class RcclRelease : std::uint8_t {
  Rccl2205,  ///< 2.20.5, ROCm 6.2.0
  Rccl2215   ///< 2.21.5, commit 0cbce2a7, October 2024
};
[[nodiscard]] std::string_view to_string(RcclRelease release);  ///< "2.20.5"
/// Throws UserError that names the releases.
[[nodiscard]] RcclRelease parse_rccl_release(std::string_view text);

/// A communicator as RCCL sees it.
struct RcclComm {
  int ranks = 2;
  int nodes = 1;
  int model = 0;  ///< index of RCCL's tuning model
  RcclRelease release = RcclRelease::Rccl2205;
  int channels = 2;      ///< channels of the communicator, after rings are doubled
  double bus_GBps = 0;   ///< bandwidth of all channels together, before a protocol's ratio
  bool mi300 = false;    ///< gfx94: no Tree with Simple on a single node
  bool by_size = false;  ///< AllReduce by size alone (one node of 16 MI250X dies)
};

/// The communicator that RCCL would make from `nodes` nodes of a fabric (0: all). Throws UserError
/// if the GPUs are not AMD's, are of an unknown model, or if the nodes differ.
[[nodiscard]] RcclComm rccl_comm_for(const Fabric& fabric, int nodes = 0,
                                     RcclRelease release = RcclRelease::Rccl2205);

/// RCCL's predicted time of a call, s; nullopt if RCCL does not use the combination. Only Ring and
/// Tree with LL and Simple are used: RCCL enables LL128 on no node of the list.
[[nodiscard]] std::optional<double> rccl_time_s(const RcclComm& comm, NcclCollective collective,
                                                NcclAlgorithm algorithm, Protocol protocol,
                                                std::uint64_t bytes);

/// The choice with the minimum predicted time for a call of `bytes` bytes (the larger of a rank's
/// send and receive buffer). AllGather and ReduceScatter always use Ring.
[[nodiscard]] NcclChoice rccl_choice(const RcclComm& comm, NcclCollective collective,
                                     std::uint64_t bytes);

}  // namespace cclgym
