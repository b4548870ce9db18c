// Other jobs on the fabric, as a graph that runs in the background.
#pragma once

#include <span>

#include "sim/graph/transfer_graph.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Graph of the background jobs. Each job is a ring of nodes (hosts) drawn at random. In a round,
/// each of them sends `bytes` to the next at the same time, over the network links that the traffic
/// of one GPU takes there; then the job pauses before the next round, forever. Jobs start at random
/// moments of their periods. The graph is empty if fewer than two nodes carry ranks.
[[nodiscard]] TransferGraph background_graph(const Fabric& fabric, const BackgroundJobs& jobs,
                                             std::span<const double> capacities_Bps,
                                             const NoiseSeed& seed);

}  // namespace cclgym
