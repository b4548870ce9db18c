// Automorphisms of coloured graphs, and groups of them that leave no point in place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "synthesis/symmetry/coloured_digraph.hpp"

namespace cclgym::synthesis {

/// Bounds on a search for automorphisms. All results are the same in every run.
struct SymmetryOptions {
  std::int64_t node_limit = 20'000;  ///< refinements per search
  int max_elements = 64;             ///< semiregular elements
  int max_groups = 32;
};

/// An automorphism that takes each vertex v with images[v] >= 0 to images[v]; nothing if there is
/// none or the node limit was reached. `images` may be shorter than the number of vertices.
[[nodiscard]] std::optional<Permutation> find_automorphism(const ColouredDigraph& graph,
                                                           std::span<const int> images,
                                                           const SymmetryOptions& options = {});

struct AutomorphismGroup {
  std::vector<Permutation> generators{};
  double order = 1;      ///< number of automorphisms, if complete
  bool complete = true;  ///< false if the node limit was reached: then it may be a subgroup
};

/// Generators of all automorphisms of a graph, by individualisation and refinement with orbit
/// pruning (McKay, "Practical graph isomorphism", 1981).
[[nodiscard]] AutomorphismGroup automorphism_group(const ColouredDigraph& graph,
                                                   const SymmetryOptions& options = {});

/// A group by its elements: the identity first, then in lexicographic order.
struct PermutationGroup {
  std::vector<Permutation> elements{};
  [[nodiscard]] int order() const { return static_cast<int>(elements.size()); }
};

/// The group that the generators generate, if its order is at most `max_order`.
[[nodiscard]] std::optional<PermutationGroup> generated_group(
    int vertices, std::span<const Permutation> generators, int max_order);

/// True if no element but the identity takes any of the vertices 0 .. points - 1 to itself: every
/// orbit of points is then as large as the group.
[[nodiscard]] bool is_semiregular(const PermutationGroup& group, int points);

/// Groups of automorphisms that are semiregular on the vertices 0 .. points - 1, largest first, the
/// trivial group left out. Rotations of consecutive points are tried first; up to 32 points, a
/// search for elements whose cycles on the points have equal lengths follows. The list need not be
/// complete.
[[nodiscard]] std::vector<PermutationGroup> semiregular_groups(const ColouredDigraph& graph,
                                                               int points,
                                                               const SymmetryOptions& options = {});

/// An automorphism of an instance.
struct InstanceSymmetry {
  Permutation ranks{};
  Permutation hops{};
  Permutation limits{};
};

/// The parts of an automorphism of coloured_digraph(instance).
[[nodiscard]] InstanceSymmetry instance_symmetry(const Instance& instance,
                                                 const Permutation& permutation);

/// Elements of a group of automorphisms of an instance, the identity first.
using InstanceGroup = std::vector<InstanceSymmetry>;

/// Groups that are semiregular on the ranks, largest first, the trivial group left out.
[[nodiscard]] std::vector<InstanceGroup> semiregular_groups(const Instance& instance,
                                                            const SymmetryOptions& options = {});

}  // namespace cclgym::synthesis
