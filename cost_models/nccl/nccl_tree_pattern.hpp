// Pattern of NCCL's trees on a fabric, and the orders of their chains.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost_models/nccl/nccl_version.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Pattern by which NCCL connects the chains of a tree's nodes (src/graph/connect.cc): the GPU at
/// the head of a chain sends to the parent; the neighbours below are connected to …
enum class TreePattern : std::uint8_t {
  Head,      ///< … the head, too (NCCL_TOPO_PATTERN_TREE)
  Balanced,  ///< … the head and the GPU after it (NCCL_TOPO_PATTERN_BALANCED_TREE)
  Split,     ///< … both the GPU after the head (NCCL_TOPO_PATTERN_SPLIT_TREE)
};

/// Pattern of a release on this fabric (src/init.cc and src/graph/search.cc of 2.8.4 to 2.30.7):
/// * Head with one GPU per node.
/// * 2.8 and 2.9: Head on two nodes; on more, Split before A100, Balanced on A100 and newer.
/// * Newer releases: Balanced, but on Hopper and newer Head if the first two GPUs of a node have
///   different NICs. NCCL then finds no balanced tree at the distance at which it searches first,
///   because both GPUs would have to use the same NIC, and tries the simpler pattern.
/// Balanced on GPUs of other vendors (an assumption), and if the GPU is not known.
[[nodiscard]] TreePattern tree_pattern(const Fabric& fabric, const NcclVersion& version);

/// The same for programs that do not depend on a release: of 2.8.4 on GPUs before A100, with which
/// all measured runs on them were made, and of newer releases on others.
[[nodiscard]] TreePattern tree_pattern(const Fabric& fabric);

/// AlgorithmRequest::tree_orders of a fabric: those of its hosts (HostTraits) if all GPUs of
/// several nodes take part, none otherwise.
[[nodiscard]] std::vector<std::vector<int>> tree_orders(const Fabric& fabric);

/// Places in a chain to which the first and the second neighbour below are connected; 0: its head.
[[nodiscard]] std::array<int, 2> child_places(TreePattern pattern);

}  // namespace cclgym
