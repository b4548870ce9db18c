// NCCL's default choice: algorithm, protocol, channels, threads and chunks for a call, as NCCL's
// own cost model makes it. docs/cost-models.md has the model and where it was checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_constants.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// What NCCL does for one call.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  Protocol protocol = Protocol::Simple;
  int channels = 1;               ///< that carry the call
  int threads = 0;                ///< a channel
  std::uint64_t chunk_bytes = 0;  ///< data of a chunk, the unit of the loop, B
  std::uint64_t slice_bytes = 0;  ///< data that is handed on at once, B
  int slices = 0;                 ///< such slices that a connection's FIFO holds
  double predicted_s = 0;         ///< what NCCL expects it to take, s

  friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};

/// The choice of one release of NCCL in one communicator, for a call by itself (NCCL merges calls
/// of a group; none of them is modelled), without environment variables or tuner plugins, for data
/// types of at least 2 bytes. Immutable; safe to share between threads.
class NcclDefault {
 public:
  /// Throws UserError if the communicator is not valid (check), or its GPUs are newer than the
  /// release.
  NcclDefault(const NcclVersion& version, const NcclComm& comm);
  /// With other constants than the release has, as a tuner plugin may set them: 2.23 and newer.
  /// Throws UserError also for an older release.
  NcclDefault(const NcclVersion& version, const NcclComm& comm, const NcclConstants& constants);
  ~NcclDefault();
  NcclDefault(NcclDefault&&) noexcept;
  NcclDefault& operator=(NcclDefault&&) noexcept;

  [[nodiscard]] const NcclVersion& version() const;
  [[nodiscard]] const NcclComm& comm() const;

  /// NCCL's estimates: time = latency + bytes / bandwidth, before the corrections that depend on
  /// the size. s and B/s of algorithm bandwidth; 0 B/s where NCCL does not use the combination.
  [[nodiscard]] double latency_s(NcclCollective collective, NcclAlgorithm algorithm,
                                 Protocol protocol) const;
  [[nodiscard]] double bandwidth_Bps(NcclCollective collective, NcclAlgorithm algorithm,
                                     Protocol protocol) const;
  /// What NCCL predicts for a call of so many bytes (the larger of a rank's send and receive
  /// buffer), s; nullopt if it does not use the combination.
  [[nodiscard]] std::optional<double> time_s(NcclCollective collective, NcclAlgorithm algorithm,
                                             Protocol protocol, std::uint64_t bytes) const;

  /// The fastest by that prediction; of equals, the first by algorithm, then protocol. `allowed`
  /// leaves algorithms out, as NCCL_ALGO does. Throws UserError if none is left.
  [[nodiscard]] NcclChoice choose(NcclCollective collective, std::uint64_t bytes,
                                  const NcclAlgorithmSet& allowed = kAllNcclAlgorithms) const;
  /// The same for a given algorithm and protocol; nullopt if NCCL does not use the combination.
  [[nodiscard]] std::optional<NcclChoice> plan(NcclCollective collective, NcclAlgorithm algorithm,
                                               Protocol protocol, std::uint64_t bytes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace cclgym
