// Logical rings of a fabric.
#pragma once

#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

/// Logical rings for a fabric: link-disjoint Hamiltonian cycles over direct GPU-GPU links, each
/// once per unit of its narrowest link and in both directions (DGX-1: six rings from two cycles);
/// where GPUs are joined by switches, the single ring 0, 1, …, n - 1.
///
/// Over several nodes of G ranks, rings go through node after node. Inside each, they follow the
/// cycles of its direct links, or, where switches join the GPUs, one ring for each rank follows the
/// order of the ranks. They are cut open so that each channel crosses by the NICs that are used
/// least so far. Where NICs of equal ranks are nearer to each other than to others ("rails": NICs
/// on different network switches), every other node is passed through backwards, and the rings
/// cross between equal ranks.
///
/// The search is greedy: it takes the widest cycle left (of equals, the first in the order of the
/// ranks) until there is none. On up to eight GPUs of one node it takes the cycle over the largest
/// number of free links, one unit at a time, if that leaves room for more cycles; on larger dense
/// fabrics another choice might leave more room. Up to 16 GPUs are searched by backtracking with a
/// step limit; with more GPUs, a ring of any size is found in linear time.
[[nodiscard]] std::vector<std::vector<int>> logical_rings(const Fabric& fabric);

}  // namespace cclgym
