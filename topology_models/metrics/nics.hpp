// The NICs by which GPUs send into the network.
#pragma once

#include <optional>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// First device on the route of a channel from one rank to another that sends into the network: the
/// sender's NIC. nullopt if the route does not enter the network.
[[nodiscard]] std::optional<NodeId> nic_towards(const Fabric& fabric, int source, int target,
                                                int channel);

}  // namespace cclgym
