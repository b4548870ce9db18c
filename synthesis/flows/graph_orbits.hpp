// Orbits of a flow graph under symmetries: linear programs need one column or row per orbit.
#pragma once

#include <vector>

#include "synthesis/flow_graph.hpp"
#include "synthesis/symmetry/coloured_digraph.hpp"

namespace cclgym::synthesis {

/// Orbits of the group that some symmetries generate, numbered by their first member.
struct GraphOrbits {
  std::vector<int> of_node{};     ///< orbit, by node
  std::vector<int> of_edge{};     ///< orbit, by edge
  std::vector<int> node_sizes{};  ///< members, by orbit
  std::vector<int> edge_sizes{};  ///< members, by orbit
  std::vector<int> first_node{};  ///< first member, by orbit
  std::vector<int> first_edge{};  ///< first member, by orbit
};

/// Orbits under the group that `generators` generate; without generators every node and every edge
/// is an orbit of its own. A symmetry maps GPUs to GPUs, nodes that compute to such nodes, and
/// edges to edges of equal capacity (an automorphism of coloured_digraph(graph)). `group` lists the
/// participating ranks (empty: all); a symmetry maps the group to itself. Throws UserError for a
/// generator that is no symmetry.
[[nodiscard]] GraphOrbits make_graph_orbits(const FlowGraph& graph,
                                            const std::vector<Permutation>& generators,
                                            const std::vector<int>& group = {});

/// A source and its images, with the orbits under the symmetries that leave the source in place: an
/// invariant flow from the source is constant on them, and gives an invariant flow from each image.
struct SourceOrbit {
  int source = 0;
  std::vector<Permutation> images{};  ///< one symmetry per member of the orbit, the identity first
  GraphOrbits fixed{};                ///< orbits under the symmetries that fix the source
};

/// Orbit of a source under the group that `generators` generate; the symmetries that fix the source
/// are found by Schreier's lemma. Takes time in proportion to orbit * generators * edges.
[[nodiscard]] SourceOrbit make_source_orbit(const FlowGraph& graph,
                                            const std::vector<Permutation>& generators, int source);

/// Image of every edge under a symmetry. Throws UserError if it is none.
[[nodiscard]] std::vector<int> edge_images(const FlowGraph& graph, const Permutation& symmetry);

/// Ranks of a group, by node: true for participants. Throws UserError for ranks out of range, not
/// ascending, or fewer than two.
[[nodiscard]] std::vector<char> participants(const FlowGraph& graph, const std::vector<int>& group);

/// True if the node passes on exactly as much as it receives: a switch that does not compute, or a
/// GPU outside the group.
[[nodiscard]] bool conserves(const FlowGraph& graph, const std::vector<char>& participates,
                             int node);

/// Disjoint sets with the smallest member as representative.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size);
  [[nodiscard]] int find(int member);
  void unite(int one, int other);
  /// Number of each member's set, in the order of their smallest members.
  [[nodiscard]] std::vector<int> numbers();

 private:
  std::vector<int> parent_;
};

}  // namespace cclgym::synthesis
