// Clusters of equal nodes on an InfiniBand fat tree. Internal to this layer.
#pragma once

#include <memory>
#include <string>

#include "topology_models/servers/server_design.hpp"

namespace cclgym {

/// Builds `parameters.servers` nodes. A tree that is not oversubscribed is one non-blocking switch,
/// "network". Otherwise every `parameters.servers_per_leaf` nodes share a leaf switch, and the
/// leaves are joined through "spine": a leaf has one link to it, at the NICs' rate, for every
/// `parameters.oversubscription` NICs (rounded, at least one link in all), and traffic is striped
/// over them evenly. With `parameters.rails`, these nodes share as many leaf switches as a node has
/// NICs, and NIC k of each is linked to switch k ("rail3", or "leaf0/rail3" if there are several
/// groups of nodes). GPUs, and so ranks, are numbered node by node. Names of vertices start with
/// "server<k>/" if there are several nodes.
[[nodiscard]] std::shared_ptr<const Fabric> build_infiniband_cluster(
    const std::string& name, const ServerDesign& design, const FabricParameters& parameters);

}  // namespace cclgym
