// Other jobs on the fabric, as a graph that runs in the background.
#pragma once

#include <span>

#include "sim/graph/transfer_graph.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Each job is a ring of servers drawn at random: at a time, each of them sends `bytes` to the next
/// over the network links that one GPU's traffic takes there; when all have, the job pauses and
/// does it again, for ever. Jobs start at random moments of their periods. Empty if no two servers
/// of the fabric carry ranks.
[[nodiscard]] TransferGraph background_graph(const Fabric& fabric, const BackgroundJobs& jobs,
                                             std::span<const double> capacities_Bps,
                                             const NoiseSeed& seed);

}  // namespace cclgym
