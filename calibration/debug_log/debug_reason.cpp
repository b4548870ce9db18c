#include "calibration/debug_log/debug_reason.hpp"

#include <algorithm>

namespace cclgym {

namespace {

// NCCL prints latencies and bandwidths with one decimal.
constexpr double kHalfDigit = 0.05;

struct Candidate {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  Protocol protocol = Protocol::Simple;
  double us = 0;

  [[nodiscard]] bool is(NcclAlgorithm a, Protocol p) const {
    return algorithm == a && protocol == p;
  }
};

// Predicted times of the calls of one size.
class Times {
 public:
  Times(const DebugCommunicator& communicator, const NcclVersion& version,
        NcclCollective collective, std::uint64_t bytes)
      : communicator_(communicator), version_(version), collective_(collective), bytes_(bytes) {
    comm_.ranks = std::max(2, communicator.ranks);
    comm_.nodes = std::max(1, communicator.nodes);
    comm_.channels = std::max(1, communicator.channels);
  }

  // The time if the estimates were `share` of half a printed digit worse.
  [[nodiscard]] std::optional<double> us(NcclAlgorithm algorithm, Protocol protocol,
                                         double share = 0) const {
    NcclEstimate estimate = (*communicator_.estimates)[static_cast<std::size_t>(
        collective_)][static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
    if (estimate.bandwidth_GBps > 0) {
      estimate.latency_us += share * kHalfDigit;
      estimate.bandwidth_GBps -= share * kHalfDigit;
    }
    return nccl::time_us(version_, comm_, estimate, collective_, algorithm, protocol, bytes_);
  }

  // All that NCCL has, the fastest first; among equals, in NCCL's order.
  [[nodiscard]] std::vector<Candidate> sorted() const {
    std::vector<Candidate> all;
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const auto algorithm = static_cast<NcclAlgorithm>(a);
        if (const auto time = us(algorithm, protocol)) all.push_back({algorithm, protocol, *time});
      }
    }
    std::ranges::stable_sort(all, {}, &Candidate::us);
    return all;
  }

 private:
  const DebugCommunicator& communicator_;
  const NcclVersion& version_;
  NcclCollective collective_;
  std::uint64_t bytes_;
  NcclComm comm_;
};

}  // namespace

DebugReason reason_of(const DebugCommunicator& communicator, const NcclVersion& version,
                      NcclCollective collective, std::uint64_t bytes, NcclAlgorithm algorithm,
                      Protocol protocol) {
  DebugReason reason;
  if (!communicator.estimates) return reason;
  const Times times(communicator, version, collective, bytes);
  for (const Candidate& candidate : times.sorted()) {
    if (candidate.is(algorithm, protocol)) {
      reason.predicted_us = candidate.us;
    } else if (!reason.other) {
      reason.other = candidate.algorithm;
      reason.other_protocol = candidate.protocol;
      reason.other_us = candidate.us;
    }
  }
  if (!reason.predicted_us) return reason;
  reason.least = !reason.other || *reason.predicted_us <= reason.other_us;
  if (!reason.least) {
    const auto most_us = times.us(*reason.other, reason.other_protocol, 1);
    reason.rounding = !most_us || *times.us(algorithm, protocol, -1) <= *most_us;
  }
  return reason;
}

std::vector<DebugRange> choices_by_estimates(const DebugCommunicator& communicator,
                                             const NcclVersion& version,
                                             NcclCollective collective) {
  constexpr std::uint64_t kLeast = 1U << 10U;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32U;
  std::vector<DebugRange> ranges;
  for (std::uint64_t bytes = kLeast; bytes <= kMost && communicator.estimates; bytes *= 2) {
    const std::vector<Candidate> all = Times(communicator, version, collective, bytes).sorted();
    if (all.empty()) continue;
    const auto& [algorithm, protocol, us] = all.front();
    const DebugReason reason =
        reason_of(communicator, version, collective, bytes, algorithm, protocol);
    if (!ranges.empty() && ranges.back().algorithm == algorithm &&
        ranges.back().protocol == protocol) {
      ranges.back().to_bytes = bytes;
      ranges.back().at_end = reason;
    } else {
      ranges.push_back({bytes, bytes, algorithm, protocol, reason, reason});
    }
  }
  return ranges;
}

}  // namespace cclgym
