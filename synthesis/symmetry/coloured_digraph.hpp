// Directed graphs with colours, whose automorphisms are the symmetries of an instance or fabric.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synthesis/flow_graph.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::synthesis {

/// Image of every vertex.
using Permutation = std::vector<int>;

struct ColouredEdge {
  int source = 0;
  int target = 0;
  std::int64_t colour = 0;
  friend auto operator<=>(const ColouredEdge&, const ColouredEdge&) = default;
};

/// A directed graph with coloured vertices and edges. Parallel edges and loops are allowed.
struct ColouredDigraph {
  std::vector<std::int64_t> colours{};  ///< by vertex
  std::vector<ColouredEdge> edges{};

  [[nodiscard]] int vertices() const { return static_cast<int>(colours.size()); }
};

/// Graph of an instance: its ranks, then its hops, then its limits are vertices. Hops differ by
/// latency (in whole picoseconds), limits by units. Channels are ignored. Automorphisms fix each of
/// the ranks in `fixed`: the root of a collective, for example.
[[nodiscard]] ColouredDigraph coloured_digraph(const Instance& instance,
                                               std::span<const int> fixed = {});

/// Graph of a flow graph with the same nodes: GPUs, other nodes and nodes that compute differ, and
/// so do edges of different capacities.
[[nodiscard]] ColouredDigraph coloured_digraph(const FlowGraph& graph,
                                               std::span<const int> fixed = {});

/// True if the permutation maps vertices and edges onto vertices and edges of the same colours.
[[nodiscard]] bool is_automorphism(const ColouredDigraph& graph, const Permutation& permutation);

/// first, then second: vertex v goes to second[first[v]].
[[nodiscard]] Permutation composed(const Permutation& first, const Permutation& second);

/// Smallest vertex of each vertex's orbit under the group that the permutations generate.
[[nodiscard]] std::vector<int> orbits(int vertices, std::span<const Permutation> generators);

}  // namespace cclgym::synthesis
