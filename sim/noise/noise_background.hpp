// Other jobs on the fabric, as a graph that runs in the background.
#pragma once

#include <span>

#include "sim/graph/transfer_graph.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Graph of the background jobs. Each job is a ring of hosts drawn at random: in a round, all of
/// them send `bytes` to the next host at once, over the network links that one GPU's traffic takes
/// there; then the job pauses before the next round, forever. Jobs start at random moments of
/// their periods. Empty if no two hosts of the fabric carry ranks.
[[nodiscard]] TransferGraph background_graph(const Fabric& fabric, const BackgroundJobs& jobs,
                                             std::span<const double> capacities_Bps,
                                             const NoiseSeed& seed);

}  // namespace cclgym
