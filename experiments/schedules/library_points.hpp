// Algorithms of the library as points beside a synthesised front.
#pragma once

#include <vector>

#include "collectives/contract.hpp"
#include "experiments/schedules/schedule_view.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Steps and rounds per chunk (C of SCCL), in link units of `unit_Bps`, of the ring, the double
/// binary tree and the direct exchanges that have the collective, with NCCL's rings, one per
/// channel. Steps are the messages of the longest chain in which each needs data of the one before,
/// and one more for every GPU that relays a message; rounds are those of the busiest link, along
/// Fabric::route. Points at the same place are one, with both names. Empty for more than 64 ranks.
[[nodiscard]] std::vector<FrontPoint> library_points(const Fabric& fabric,
                                                     CollectiveKind collective, int root,
                                                     double unit_Bps);

}  // namespace cclgym
