// The NVLinks among the eight V100 of a DGX-1. Internal to this layer.
#pragma once

#include <vector>

#include "topology_models/servers/server_design.hpp"

namespace cclgym {

/// Two quads of GPUs, each fully joined, and one edge from each GPU to the other quad; one or two
/// units a pair, six a GPU. In rising order of GPUs.
[[nodiscard]] std::vector<GpuPair> hybrid_cube_mesh();

}  // namespace cclgym
