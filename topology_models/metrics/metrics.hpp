// Exact metrics of a fabric: bounds that no collective on it can beat.
#pragma once

#include <optional>
#include <string>

#include "topology_models/fabric.hpp"
#include "topology_models/rational.hpp"

namespace cclgym {

/// A value, or the reason why there is none (as a text that follows "not computed: ").
template <class T>
struct Computed {
  std::optional<T> value;
  std::string why_not;
};

struct FabricMetrics {
  /// Maximum number of steps from one GPU to another: SCCL's a_l for AllGather. A step passes
  /// through switches and NICs as routes do, but through no GPU and no avoided host
  /// (host_use.hpp): GPUs of one server use no NIC to reach each other if links join them.
  Computed<int> diameter;
  /// The link unit, B/s: the greatest common divisor of the unit bandwidths of all links, each
  /// rounded to whole B/s. One round moves one chunk over one such unit.
  Computed<double> link_unit_Bps;
  /// Rounds per chunk of a bandwidth-optimal AllGather in which every GPU starts with one chunk:
  /// the maximum over all node sets S that leave out a GPU of (GPUs in S) / (units out of S). It is
  /// SCCL's b_l for AllGather. ForestColl (arXiv 2402.06787) shows that it can be reached if every
  /// switch has as many units in as out, or copies; two dgx2 need 31/156 without copies, not
  /// 31/162.
  Computed<Rational> inverse_bisection;
  /// Minimum capacity between two halves of the GPUs (N/2 rounded down and up) in the worse
  /// direction, B/s. Switches may be on either side.
  Computed<double> bisection_Bps;
  /// Maximum number of links from one network switch with a NIC to another, through network
  /// switches only: 3 in a dragonfly of several groups, 0 if all NICs share one switch or there is
  /// no network.
  Computed<int> switch_hops;
};

/// All metrics of a fabric. A metric that would take more than about a second is not computed and
/// has a reason instead: the bisection of more than 16 GPUs, the other metrics of a few thousand
/// GPUs.
[[nodiscard]] FabricMetrics fabric_metrics(const Fabric& fabric);

[[nodiscard]] Computed<int> diameter(const Fabric& fabric);
[[nodiscard]] Computed<double> link_unit_Bps(const Fabric& fabric);
[[nodiscard]] Computed<Rational> inverse_bisection(const Fabric& fabric);
[[nodiscard]] Computed<double> bisection_Bps(const Fabric& fabric);
[[nodiscard]] Computed<int> switch_hops(const Fabric& fabric);

}  // namespace cclgym
