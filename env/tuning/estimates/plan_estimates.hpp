// Estimated time of any configuration, from its messages and the cost model, without a simulation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "env/tuning/estimates/plan_loads.hpp"

namespace cclgym {

/// T(bytes) = start_s + s_per_B bytes + (path_s_per_B - s_per_B) min(bytes, tile_bytes): SCCL's S
/// alpha + (R / C) L beta (section 2.4) with all costs of the model. A call of up to one tile takes
/// the time of its longest chain of messages; the bytes of further tiles follow at the rate of the
/// busiest link, thread block or proxy.
struct PlanEstimate {
  double start_s = 0;       ///< longest chain of latencies, with the launch
  double s_per_B = 0;       ///< time per byte of the busiest link, thread block or proxy
  double path_s_per_B = 0;  ///< time per byte of the longest chain of messages
  double tile_bytes = 0;    ///< largest call whose messages are one tile each, B
  /// Messages between nodes on the longest chain, each of which waits for `queued` messages of
  /// other channels in its rank's proxy.
  int proxied = 0;
  int queued = 0;
  double message_share = 0;  ///< largest message per byte of the call

  [[nodiscard]] double time_s(double bytes, const CostModel& model, Protocol protocol) const;
};

/// Estimates the programs of a fabric. Not thread-safe. Messages that share a link are assumed to
/// do so all the time, or never; waiting for a slot of the FIFO is ignored.
class PlanEstimates {
 public:
  explicit PlanEstimates(std::shared_ptr<const CallSite> site);

  /// Estimate of a configuration; nullopt if it cannot run. `loads` has the loads of links.
  [[nodiscard]] std::optional<PlanEstimate> estimate(CollectiveKind collective,
                                                     const PlainConfig& config, PlanLoads& loads);

 private:
  /// A program on one channel with one protocol.
  struct Base {
    bool runs = false;
    double start_s = 0;        ///< without the launch
    double path_s_per_B = 0;   ///< time per byte of the longest chain
    double block_s_per_B = 0;  ///< time per byte of the busiest thread block
    double message_share = 0;  ///< largest message per byte of the call
    double proxy_share = 0;    ///< wire bytes through the busiest rank's proxy, per byte
    double wire_share = 1;     ///< bytes on the wire per byte of payload
    int proxied = 0;           ///< messages through proxies on the longest chain of a small call
    int thread_blocks = 1;     ///< most on a GPU
    Runtime runtime = Runtime::Nccl;
    int channels = 1;
  };
  [[nodiscard]] const Base& base(CollectiveKind collective, const PlainConfig& config);
  [[nodiscard]] Base measure(CollectiveKind collective, const PlainConfig& config);

  std::shared_ptr<const CallSite> site_;
  std::vector<std::unique_ptr<Simulator>> simulators_;  ///< by binding; created on first use
  /// By collective, program, binding, protocol and threads.
  std::map<std::tuple<CollectiveKind, int, int, Protocol, int>, Base> bases_;
};

}  // namespace cclgym
