#include "synthesis/symmetry/coloured_digraph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.hpp"

namespace cclgym::synthesis {
namespace {

// Colours of vertices: the kind in the upper bits, the value in the lower ones.
constexpr std::int64_t kKind = std::int64_t{1} << 56;
constexpr std::int64_t kRankKind = 0 * kKind;
constexpr std::int64_t kHopKind = 1 * kKind;
constexpr std::int64_t kLimitKind = 2 * kKind;
constexpr std::int64_t kNodeKind = 3 * kKind;

void give_own_colours(ColouredDigraph& graph, std::span<const int> fixed) {
  for (const int vertex : fixed) graph.colours[at(vertex)] = 1 + vertex;
}

}  // namespace

ColouredDigraph coloured_digraph(const Instance& instance, std::span<const int> fixed) {
  ColouredDigraph graph;
  graph.colours.assign(at(instance.ranks), kRankKind);
  const int first_hop = instance.ranks;
  const int first_limit = first_hop + static_cast<int>(instance.hops.size());
  for (std::size_t k = 0; k < instance.hops.size(); ++k) {
    const Hop& hop = instance.hops[k];
    const int vertex = first_hop + static_cast<int>(k);
    graph.colours.push_back(kHopKind + std::llround(hop.latency_s * 1e12));
    graph.edges.push_back({hop.source, vertex, 0});
    graph.edges.push_back({vertex, hop.target, 0});
    for (const int limit : hop.limits) graph.edges.push_back({vertex, first_limit + limit, 1});
  }
  for (const Limit& limit : instance.limits) graph.colours.push_back(kLimitKind + limit.units);
  give_own_colours(graph, fixed);
  return graph;
}

ColouredDigraph coloured_digraph(const FlowGraph& graph, std::span<const int> fixed) {
  ColouredDigraph result;
  result.colours.assign(at(graph.nodes), kNodeKind);
  for (int node = 0; node < graph.nodes; ++node) {
    const bool computes = at(node) < graph.computes.size() && graph.computes[at(node)] != 0;
    if (node < graph.ranks) {
      result.colours[at(node)] = kRankKind;
    } else if (computes) {
      ++result.colours[at(node)];
    }
  }
  for (const FlowEdge& edge : graph.edges) {
    result.edges.push_back({edge.source, edge.target, edge.units});
  }
  give_own_colours(result, fixed);
  return result;
}

bool is_automorphism(const ColouredDigraph& graph, const Permutation& permutation) {
  if (permutation.size() != graph.colours.size()) return false;
  std::vector<char> reached(permutation.size(), 0);
  for (std::size_t vertex = 0; vertex < permutation.size(); ++vertex) {
    const int image = permutation[vertex];
    if (image < 0 || image >= graph.vertices() || reached[at(image)]) return false;
    if (graph.colours[vertex] != graph.colours[at(image)]) return false;
    reached[at(image)] = 1;
  }
  std::vector<ColouredEdge> edges = graph.edges;
  std::vector<ColouredEdge> images = graph.edges;
  for (ColouredEdge& edge : images) {
    edge.source = permutation[at(edge.source)];
    edge.target = permutation[at(edge.target)];
  }
  std::sort(edges.begin(), edges.end());
  std::sort(images.begin(), images.end());
  return edges == images;
}

Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation result(first.size());
  for (std::size_t k = 0; k < first.size(); ++k) result[k] = second[at(first[k])];
  return result;
}

std::vector<int> orbits(int vertices, std::span<const Permutation> generators) {
  std::vector<int> parent(at(vertices));
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int vertex) {
    while (parent[at(vertex)] != vertex) {
      vertex = parent[at(vertex)] = parent[at(parent[at(vertex)])];
    }
    return vertex;
  };
  for (const Permutation& generator : generators) {
    for (int vertex = 0; vertex < vertices; ++vertex) {
      const int one = find(vertex);
      const int other = find(generator[at(vertex)]);
      parent[at(std::max(one, other))] = std::min(one, other);
    }
  }
  for (int vertex = 0; vertex < vertices; ++vertex) parent[at(vertex)] = find(vertex);
  return parent;
}

}  // namespace cclgym::synthesis
