// Bytes that calls send through the NICs of a node, as the counters of the NICs show them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <shared_mutex>
#include <tuple>
#include <vector>

#include "sim/fast/call_timer.hpp"

namespace cclgym {

inline constexpr std::size_t kCountedNics = 8;

/// Traffic between nodes on the NICs of the first node, in one call.
struct NicShares {
  int nics = 0;  ///< NICs of the node, at most kCountedNics
  /// Shares of the bytes that the node sends and receives, by NIC; all 0 without such traffic.
  std::array<float, kCountedNics> sent{};
  std::array<float, kCountedNics> received{};
  /// Variance over the NICs of both shares, relative to an equal share: 0 if all carry the same,
  /// n - 1 if one of n NICs carries everything (PCCL, figure 5).
  double variance = 0;

  /// Spread of the bytes over the NICs, from 0 (one NIC carries everything, or there are fewer than
  /// two NICs or no bytes) to 1 (all carry the same): (m - 1) / (n - 1), where m = n / (1 +
  /// variance) is the number of equally used NICs with the same sum of squared shares.
  [[nodiscard]] double fan_out() const;
};

/// Counts bytes along the routes of a program's messages. Shares do not depend on the size of a
/// call, so that each program is lowered once. Thread-safe.
class NicCounters {
 public:
  explicit NicCounters(std::shared_ptr<const CallSite> site);

  /// Counters after a call. All 0 on one node, and for configurations that cannot run.
  [[nodiscard]] const NicShares& shares(const Call& call, const PlainConfig& config);

 private:
  using Key = std::tuple<int, int, CollectiveKind, int, int, int>;
  [[nodiscard]] NicShares count(const Call& call, const PlainConfig& config);

  std::shared_ptr<const CallSite> site_;
  std::vector<std::unique_ptr<Simulator>> simulators_;  ///< by binding; created on first use
  std::shared_mutex mutex_;
  std::map<Key, NicShares> known_;
};

}  // namespace cclgym
