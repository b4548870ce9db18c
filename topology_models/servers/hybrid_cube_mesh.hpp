// The NVLinks among the eight V100 of a DGX-1.
#pragma once

#include <vector>

#include "topology_models/servers/gpu_pair.hpp"

namespace cclgym {

/// Two fully connected quads of GPUs, and one edge from each GPU to the other quad; one or two
/// units per pair, six per GPU. The pairs are in ascending order of GPUs.
[[nodiscard]] std::vector<GpuPair> hybrid_cube_mesh();

}  // namespace cclgym
