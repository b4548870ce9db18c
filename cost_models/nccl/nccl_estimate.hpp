// NCCL's estimates of its algorithms and protocols, computed by a model or printed by NCCL itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// time = latency + bytes / bandwidth. A bandwidth of 0 means that NCCL does not use the
/// combination.
struct NcclEstimate {
  double latency_us = 0;
  double bandwidth_GBps = 0;
};

/// Estimates by collective, algorithm and protocol (LL, LL128, Simple).
using NcclEstimates =
    std::array<std::array<std::array<NcclEstimate, kProtocols>, kNcclAlgorithms>, kNcclCollectives>;

namespace nccl {

/// Predicted time of one call from an estimate (ncclTopoGetAlgoTime), us; nullopt: not used. Of the
/// communicator, it reads the ranks, nodes, channels, compute capability and CPU.
[[nodiscard]] std::optional<double> time_us(const NcclVersion& version, const NcclComm& comm,
                                            const NcclEstimate& estimate, NcclCollective collective,
                                            NcclAlgorithm algorithm, Protocol protocol,
                                            std::uint64_t bytes);

}  // namespace nccl
}  // namespace cclgym
