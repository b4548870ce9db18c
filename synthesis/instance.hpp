// The fabric as a schedule sees it: messages that pass through no other GPU, and the bandwidth that
// they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// A message from one GPU to another that passes through no third GPU, on one route.
struct Hop {
  int source = 0;  ///< rank
  int target = 0;  ///< rank
  /// Lowest channel on which Fabric::route takes this route; -1 if the instance was not made from a
  /// fabric.
  int channel = -1;
  std::vector<int> limits{};  ///< indices into Instance::limits, ascending
  double latency_s = 0;       ///< sum of the latencies of its links, s
};

/// A bandwidth relation (SCCL, section 3.2.1): all hops that name it share `units` chunks per
/// round. A limit stands for a link, or for the ports of a node, a bus or a switch.
struct Limit {
  std::string name{};           ///< "gpu0 -> gpu1"
  std::int64_t units = 1;       ///< chunks per round
  std::vector<int> hops{};      ///< indices into Instance::hops, ascending
  std::vector<LinkId> links{};  ///< links that it stands for: empty without a fabric
};

/// Hops and limits of a fabric. One round is the time in which one link unit carries one chunk.
struct Instance {
  std::string name{};
  int ranks = 0;
  double unit_Bps = 1;  ///< bandwidth of one link unit, B/s
  std::vector<Hop> hops{};
  std::vector<Limit> limits{};

  /// Adds a hop and returns its index; also enters it into the limits.
  int add_hop(Hop hop);
  /// Indices of the hops that leave a rank, by rank.
  [[nodiscard]] std::vector<std::vector<int>> hops_out() const;
  /// Indices of the hops that reach a rank, by rank.
  [[nodiscard]] std::vector<std::vector<int>> hops_in() const;
  /// Minimum number of hops from a rank to a rank, row by source; -1 if there is no path.
  [[nodiscard]] std::vector<std::vector<int>> distances() const;
  /// The instance with every hop reversed; hops and limits keep their indices.
  [[nodiscard]] Instance reversed() const;
};

/// Instance of a fabric, made of Fabric::route for every pair of ranks on the channels
/// 0 .. channels - 1: routes through other GPUs or avoided hosts (host_use.hpp) are left out, and
/// of equal routes the one with the lowest channel is kept. Limits whose hops are also in an
/// equally tight or tighter limit are dropped. The link unit is the greatest common divisor of the
/// limits that are left. Takes time in proportion to the square of the ranks. Throws UserError if
/// the link units have no common unit of whole B/s, or if a rank cannot reach every other rank
/// along hops.
[[nodiscard]] Instance make_instance(const Fabric& fabric, int channels = 1);

/// Instance of point-to-point links: units[source][target] chunks per round, 0: no link. For tests
/// and for published topologies.
[[nodiscard]] Instance link_instance(std::string name,
                                     const std::vector<std::vector<std::int64_t>>& units);

}  // namespace cclgym::synthesis
