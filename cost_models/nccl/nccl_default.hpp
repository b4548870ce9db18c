// NCCL's default choice of algorithm, protocol, channels, threads and chunks for a call, by NCCL's
// own cost model. docs/cost-models.md describes the model and its checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_constants.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// NCCL's choice for one call.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  Protocol protocol = Protocol::Simple;
  int channels = 1;               ///< channels that carry the call
  int threads = 0;                ///< threads per channel
  std::uint64_t chunk_bytes = 0;  ///< data of a chunk, the unit of the loop, B
  std::uint64_t slice_bytes = 0;  ///< data of a slice, the unit of a transfer, B
  int slices = 0;                 ///< slices that a connection's FIFO holds
  double predicted_s = 0;         ///< NCCL's predicted time, s

  friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};

/// The choices of one release of NCCL in one communicator, for single calls (NCCL merges calls of a
/// group, which is not modelled), without environment variables or tuner plugins, for data types of
/// at least 2 bytes. Immutable; safe to share between threads.
class NcclDefault {
 public:
  /// Throws UserError if the communicator is not valid (check), or its GPUs are newer than the
  /// release.
  NcclDefault(const NcclVersion& version, const NcclComm& comm);
  /// Uses other constants than the release's own, as a tuner plugin may set them. Throws UserError
  /// also for a release before 2.23.
  NcclDefault(const NcclVersion& version, const NcclComm& comm, const NcclConstants& constants);
  ~NcclDefault();
  NcclDefault(NcclDefault&&) noexcept;
  NcclDefault& operator=(NcclDefault&&) noexcept;

  [[nodiscard]] const NcclVersion& version() const;
  [[nodiscard]] const NcclComm& comm() const;

  /// NCCL's estimates for time = latency + bytes / bandwidth, before the corrections that depend on
  /// the size, in s and in B/s of algorithm bandwidth; 0 B/s if NCCL does not use the combination.
  [[nodiscard]] double latency_s(NcclCollective collective, NcclAlgorithm algorithm,
                                 Protocol protocol) const;
  [[nodiscard]] double bandwidth_Bps(NcclCollective collective, NcclAlgorithm algorithm,
                                     Protocol protocol) const;
  /// NCCL's predicted time for a call of `bytes` bytes (the larger of a rank's send and receive
  /// buffer), s; nullopt if NCCL does not use the combination.
  [[nodiscard]] std::optional<double> time_s(NcclCollective collective, NcclAlgorithm algorithm,
                                             Protocol protocol, std::uint64_t bytes) const;

  /// The choice with the minimum predicted time; among equals, the first by algorithm, then by
  /// protocol. `allowed` restricts the algorithms, as NCCL_ALGO does, and `only` the protocol,
  /// as NCCL_PROTO does. Throws UserError if NCCL uses none of them for the collective.
  [[nodiscard]] NcclChoice choose(NcclCollective collective, std::uint64_t bytes,
                                  const NcclAlgorithmSet& allowed = kAllNcclAlgorithms,
                                  std::optional<Protocol> only = std::nullopt) const;
  /// The choice for a given algorithm and protocol; nullopt if NCCL does not use the combination.
  [[nodiscard]] std::optional<NcclChoice> plan(NcclCollective collective, NcclAlgorithm algorithm,
                                               Protocol protocol, std::uint64_t bytes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace cclgym
