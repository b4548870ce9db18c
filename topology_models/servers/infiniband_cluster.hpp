// Clusters of equal servers on an InfiniBand fat tree. Internal to this layer.
#pragma once

#include <memory>
#include <string>

#include "topology_models/servers/server_design.hpp"

namespace cclgym {

/// `parameters.servers` such servers. While the tree is not oversubscribed, it is one non-blocking
/// switch, "network". Otherwise every `parameters.servers_per_leaf` servers share a leaf switch,
/// and the leaves are joined through "spine": a leaf has as many links to it, of the NICs' rate, as
/// the NICs of its servers divided by `parameters.oversubscription`, rounded, but one at least, and
/// traffic is striped over them evenly. GPUs, and so ranks, are numbered server by server. The
/// names of nodes start with "server<k>/" if there are several servers.
[[nodiscard]] std::shared_ptr<const Fabric> build_infiniband_cluster(
    const std::string& name, const ServerDesign& design, const FabricParameters& parameters);

}  // namespace cclgym
