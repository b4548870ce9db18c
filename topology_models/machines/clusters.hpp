// The machines that clusters.yaml describes: equal nodes on an InfiniBand or Ethernet fat tree.
// Internal to this layer.
#pragma once

#include <vector>

#include "topology_models/servers/builders.hpp"

namespace cclgym {

/// The models of clusters.yaml, in its order.
[[nodiscard]] std::vector<FabricModel> cluster_models();

}  // namespace cclgym
