// Channels on which messages take a given route.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// A set of channels: bit k stands for channel k.
using ChannelSet = std::uint64_t;
inline constexpr int kMaxChannels = 64;

/// Routes between pairs of ranks on the channels 0 .. channels - 1, computed once per pair. It
/// relies on Fabric::route being periodic in the channel.
class RouteChannels {
 public:
  /// 1 <= channels <= kMaxChannels. The fabric must outlive this object.
  RouteChannels(const Fabric& fabric, int channels) : fabric_(&fabric), channels_(channels) {}

  /// Channels on which messages take the same route as on `channel`, ascending.
  [[nodiscard]] std::vector<int> like(int source, int target, int channel);
  /// Channels whose route passes through exactly these devices between the two GPUs.
  [[nodiscard]] ChannelSet through(int source, int target, std::span<const NodeId> devices);

 private:
  /// Routes on the channels of one period.
  const std::vector<std::vector<LinkId>>& period(int source, int target);

  const Fabric* fabric_;
  int channels_;
  std::map<std::pair<int, int>, std::vector<std::vector<LinkId>>> periods_;
};

}  // namespace cclgym::synthesis
