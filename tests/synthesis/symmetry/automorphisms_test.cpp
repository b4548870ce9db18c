// Tests of automorphisms and semiregular groups, against brute force over all permutations and the
// known groups of rings, cubes and machines.
#include "synthesis/symmetry/automorphisms.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/published_instances.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

ColouredDigraph random_digraph(std::mt19937& random, int vertices) {
  ColouredDigraph graph;
  const bool two_colours = random() % 2 == 0;
  for (int vertex = 0; vertex < vertices; ++vertex) {
    graph.colours.push_back(two_colours ? static_cast<std::int64_t>(random() % 2) : 0);
  }
  const unsigned density = 1 + random() % 4;
  const unsigned colours = 1 + random() % 2;
  for (int source = 0; source < vertices; ++source) {
    for (int target = 0; target < vertices; ++target) {
      if (random() % 5 < density) {
        graph.edges.push_back({source, target, static_cast<std::int64_t>(random() % colours)});
      }
    }
  }
  return graph;
}

TEST_CASE("automorphisms of random graphs: as many as brute force counts",
          "[synthesis][symmetry]") {
  std::mt19937 random(11);
  int with_symmetry = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const int vertices = 2 + static_cast<int>(random() % 5);
    const ColouredDigraph graph = random_digraph(random, vertices);
    Permutation permutation(at(vertices));
    std::iota(permutation.begin(), permutation.end(), 0);
    int count = 0;
    std::vector<Permutation> all;
    do {
      if (!is_automorphism(graph, permutation)) continue;
      ++count;
      all.push_back(permutation);
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    const AutomorphismGroup group = automorphism_group(graph);
    INFO("trial " << trial);
    REQUIRE(group.complete);
    CHECK(group.order == count);
    CHECK(orbits(vertices, group.generators) == orbits(vertices, all));
    const auto generated = generated_group(vertices, group.generators, 720);
    REQUIRE(generated);
    CHECK(generated->elements == all);
    with_symmetry += count > 1 ? 1 : 0;
    // Every group that is listed is one, and a semiregular element is found if there is one.
    const bool semiregular = std::any_of(all.begin() + 1, all.end(), [&](const Permutation& one) {
      const auto powers = generated_group(vertices, std::span(&one, 1), 720);
      return is_semiregular(*powers, vertices);
    });
    const std::vector<PermutationGroup> groups = semiregular_groups(graph, vertices);
    CHECK(groups.empty() != semiregular);
    for (const PermutationGroup& listed : groups) {
      CHECK(is_semiregular(listed, vertices));
      CHECK(generated_group(vertices, listed.elements, 720)->order() == listed.order());
      for (const Permutation& element : listed.elements) CHECK(is_automorphism(graph, element));
    }
  }
  CHECK(with_symmetry > 80);
}

TEST_CASE("automorphisms of a ring, and with one rank fixed", "[synthesis][symmetry]") {
  const Instance ring = ring_instance(8);
  CHECK(automorphism_group(coloured_digraph(ring)).order == 16);
  const std::vector<int> root{3};
  const AutomorphismGroup fixed = automorphism_group(coloured_digraph(ring, root));
  CHECK(fixed.order == 2);
  REQUIRE(fixed.generators.size() == 1);
  CHECK(instance_symmetry(ring, fixed.generators.front()).ranks ==
        Permutation{6, 5, 4, 3, 2, 1, 0, 7});
  const std::vector<InstanceGroup> groups = semiregular_groups(ring);
  REQUIRE_FALSE(groups.empty());
  CHECK(groups.front().size() == 8);
}

TEST_CASE("symmetries of an instance map hops and limits with the ranks", "[synthesis][symmetry]") {
  for (const char* name : {"dgx1", "ndv4", "ndv2"}) {
    const Instance instance = make_instance(*fabric_of(name));
    const std::vector<InstanceGroup> groups = semiregular_groups(instance);
    INFO(name);
    REQUIRE_FALSE(groups.empty());
    for (const InstanceGroup& group : groups) {
      for (const InstanceSymmetry& symmetry : group) {
        for (std::size_t k = 0; k < instance.hops.size(); ++k) {
          const Hop& hop = instance.hops[k];
          const Hop& image = instance.hops[at(symmetry.hops[k])];
          CHECK(image.source == symmetry.ranks[at(hop.source)]);
          CHECK(image.target == symmetry.ranks[at(hop.target)]);
          std::vector<int> limits;
          for (const int limit : hop.limits) limits.push_back(symmetry.limits[at(limit)]);
          std::sort(limits.begin(), limits.end());
          CHECK(limits == image.limits);
        }
      }
    }
  }
}

TEST_CASE("DGX-1 has one semiregular group of order 4, a switched node one of order 8",
          "[synthesis][symmetry]") {
  const Instance dgx1 = make_instance(*fabric_of("dgx1"));
  int of_order_4 = 0;
  int of_order_2 = 0;
  for (const InstanceGroup& group : semiregular_groups(dgx1)) {
    of_order_4 += group.size() == 4 ? 1 : 0;
    of_order_2 += group.size() == 2 ? 1 : 0;
  }
  CHECK(of_order_4 == 1);
  CHECK(of_order_2 == 3);
  CHECK(automorphism_group(coloured_digraph(dgx1)).complete);
  const Instance ndv4 = make_instance(*fabric_of("ndv4"));
  CHECK(automorphism_group(coloured_digraph(ndv4)).order == 40320);
  CHECK(semiregular_groups(ndv4).front().size() == 8);
}

TEST_CASE("a switched fabric rotates by servers", "[synthesis][symmetry]") {
  const FlowGraph graph = make_flow_graph(*fabric_of("ndv4", 16));
  const std::vector<PermutationGroup> groups =
      semiregular_groups(coloured_digraph(graph), graph.ranks);
  REQUIRE_FALSE(groups.empty());
  CHECK(groups.front().order() >= 16);
  const std::vector<int> orbit = orbits(graph.ranks, groups.front().elements);
  CHECK(std::count(orbit.begin(), orbit.end(), 0) == groups.front().order());
}

TEST_CASE("capacities and computing switches break symmetry", "[synthesis][symmetry]") {
  Instance ring = ring_instance(4);
  ring.limits[0].units = 2;
  CHECK(automorphism_group(coloured_digraph(ring)).order == 1);
  CHECK(semiregular_groups(ring).empty());
  FlowGraph graph{.name = "stars", .ranks = 4, .nodes = 6};
  graph.computes = {0, 0, 0, 0, 1, 1};
  for (int rank = 0; rank < 4; ++rank) graph.add_duplex(rank, 4 + rank / 2, 1);
  CHECK(automorphism_group(coloured_digraph(graph)).order == 8);
  graph.computes[5] = 0;
  CHECK(automorphism_group(coloured_digraph(graph)).order == 4);
}

}  // namespace
}  // namespace cclgym::test
