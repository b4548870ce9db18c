// Constants of RCCL's tuning models. Internal to this layer.
#pragma once

#include <array>
#include <cstddef>

#include "cost_models/rccl/rccl_default.hpp"

namespace cclgym::rccl {

using ByProtocol = std::array<double, 2>;       ///< LL, Simple
using ByAlgorithm = std::array<ByProtocol, 2>;  ///< Tree, Ring
inline constexpr std::size_t kFactors = 27;     ///< by log2 of bytes / 64, up to 4 GiB

/// A tuning model, in RCCL's units (us and GB/s).
struct RcclModel {
  ByAlgorithm inside_us;             ///< latency of a step over xGMI
  ByAlgorithm between_us;            ///< latency of a step over the network
  std::array<ByAlgorithm, 2> ratio;  ///< share of the bus bandwidth: up to 2 nodes, more nodes
  /// Correction of the bandwidth by size, by algorithm and protocol. Ring's applies between nodes.
  std::array<std::array<std::array<double, kFactors>, 2>, 2> factor;
};

/// The model of an index in a release's list. Throws std::logic_error for an index that is not
/// here.
[[nodiscard]] const RcclModel& rccl_model(int index, RcclRelease release);

}  // namespace cclgym::rccl
