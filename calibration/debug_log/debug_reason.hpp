// Reasons for NCCL's choices, by its arithmetic on the estimates that it printed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calibration/debug_log/debug_log.hpp"

namespace cclgym {

/// One reason for a choice.
struct DebugReason {
  std::optional<double> predicted_us;  ///< by NCCL's estimates in the log
  /// The best of the other algorithms and protocols.
  std::optional<NcclAlgorithm> other;
  Protocol other_protocol = Protocol::Simple;
  double other_us = 0;
  bool least = false;     ///< the choice has the least predicted time
  bool rounding = false;  ///< it has not, but may have: NCCL prints one decimal
};

/// NCCL's own arithmetic for a call on this communicator, from the estimates that it printed.
/// `version` is a modelled release. GPUs are taken for A100 or newer.
[[nodiscard]] DebugReason reason_of(const DebugCommunicator& communicator,
                                    const NcclVersion& version, NcclCollective collective,
                                    std::uint64_t bytes, NcclAlgorithm algorithm,
                                    Protocol protocol);

/// The choice of the estimates for calls of `from_bytes` to `to_bytes`, both powers of two.
struct DebugRange {
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  Protocol protocol = Protocol::Simple;
  DebugReason at_start;
  DebugReason at_end;
};
/// The choices for 1 KiB to 4 GiB; empty without estimates for the collective.
[[nodiscard]] std::vector<DebugRange> choices_by_estimates(const DebugCommunicator& communicator,
                                                           const NcclVersion& version,
                                                           NcclCollective collective);

}  // namespace cclgym
