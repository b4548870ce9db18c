// Logical rings of a fabric.
#pragma once

#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// Logical rings for a fabric (docs/collectives.md, "Logical rings"): cycles over direct GPU-GPU
/// links (DGX-1: six rings from two cycles); where GPUs are joined by switches, the single ring 0,
/// 1, …, n - 1. Over several nodes, rings go through node after node.
[[nodiscard]] std::vector<std::vector<int>> logical_rings(const Fabric& fabric);

}  // namespace cclgym
