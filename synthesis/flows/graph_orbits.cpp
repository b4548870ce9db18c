#include "synthesis/flows/graph_orbits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

DisjointSets::DisjointSets(std::size_t size) : parent_(size) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

int DisjointSets::find(int member) {
  while (parent_[at(member)] != member) {
    parent_[at(member)] = parent_[at(parent_[at(member)])];
    member = parent_[at(member)];
  }
  return member;
}

void DisjointSets::unite(int one, int other) {
  one = find(one);
  other = find(other);
  parent_[at(std::max(one, other))] = std::min(one, other);
}

std::vector<int> DisjointSets::numbers() {
  std::vector<int> result(parent_.size());
  int count = 0;
  for (std::size_t k = 0; k < parent_.size(); ++k) {
    const int root = find(static_cast<int>(k));
    result[k] = at(root) == k ? count++ : result[at(root)];
  }
  return result;
}

std::vector<int> edge_images(const FlowGraph& graph, const Permutation& symmetry) {
  std::vector<char> reached(at(graph.nodes), 0);
  for (const int image : symmetry) {
    if (image < 0 || image >= graph.nodes || reached[at(image)]) {
      throw UserError("a symmetry of the flow graph is no permutation of its nodes");
    }
    reached[at(image)] = 1;
  }
  if (symmetry.size() != at(graph.nodes)) {
    throw UserError(fmt::format("a symmetry has {} nodes; the flow graph has {}", symmetry.size(),
                                graph.nodes));
  }
  for (int node = 0; node < graph.nodes; ++node) {
    const int image = symmetry[at(node)];
    const auto computes = [&](int of) {
      return of >= graph.ranks && !graph.computes.empty() && graph.computes[at(of)] != 0;
    };
    if ((node < graph.ranks) != (image < graph.ranks) || computes(node) != computes(image)) {
      throw UserError(
          fmt::format("a symmetry maps node {} to node {}, which is of another kind", node, image));
    }
  }
  std::map<std::pair<int, int>, int> edge_at;
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    edge_at[{graph.edges[k].source, graph.edges[k].target}] = static_cast<int>(k);
  }
  std::vector<int> images;
  images.reserve(graph.edges.size());
  for (const FlowEdge& edge : graph.edges) {
    const auto found = edge_at.find({symmetry[at(edge.source)], symmetry[at(edge.target)]});
    if (found == edge_at.end() || graph.edges[at(found->second)].units != edge.units) {
      throw UserError(fmt::format("a symmetry maps the edge {} -> {} of {} units to no such edge",
                                  edge.source, edge.target, edge.units));
    }
    images.push_back(found->second);
  }
  return images;
}

namespace {

GraphOrbits numbered_orbits(DisjointSets& nodes, DisjointSets& edges) {
  GraphOrbits orbits;
  const auto count = [](const std::vector<int>& of, std::vector<int>& sizes,
                        std::vector<int>& first) {
    for (std::size_t k = 0; k < of.size(); ++k) {
      if (at(of[k]) == sizes.size()) {
        sizes.push_back(0);
        first.push_back(static_cast<int>(k));
      }
      ++sizes[at(of[k])];
    }
  };
  orbits.of_node = nodes.numbers();
  orbits.of_edge = edges.numbers();
  count(orbits.of_node, orbits.node_sizes, orbits.first_node);
  count(orbits.of_edge, orbits.edge_sizes, orbits.first_edge);
  return orbits;
}

}  // namespace

GraphOrbits make_graph_orbits(const FlowGraph& graph, const std::vector<Permutation>& generators,
                              const std::vector<int>& group) {
  DisjointSets nodes(at(graph.nodes));
  DisjointSets edges(graph.edges.size());
  const std::vector<char> participates = participants(graph, group);
  for (const Permutation& generator : generators) {
    const std::vector<int> images = edge_images(graph, generator);
    for (std::size_t k = 0; k < images.size(); ++k) edges.unite(static_cast<int>(k), images[k]);
    for (int node = 0; node < graph.nodes; ++node) {
      const int image = generator[at(node)];
      if (participates[at(node)] != participates[at(image)]) {
        throw UserError(
            fmt::format("a symmetry maps rank {} to rank {}, and only one is in the "
                        "group",
                        node, image));
      }
      nodes.unite(node, image);
    }
  }
  return numbered_orbits(nodes, edges);
}

SourceOrbit make_source_orbit(const FlowGraph& graph, const std::vector<Permutation>& generators,
                              int source) {
  std::vector<std::vector<int>> generator_edges;
  for (const Permutation& generator : generators) {
    generator_edges.push_back(edge_images(graph, generator));
  }
  SourceOrbit orbit;
  orbit.source = source;
  std::vector<std::vector<int>> image_edges;  // by member
  Permutation identity(at(graph.nodes));
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<int> same_edges(graph.edges.size());
  std::iota(same_edges.begin(), same_edges.end(), 0);
  std::vector<int> member_at(at(graph.nodes), -1);
  member_at[at(source)] = 0;
  orbit.images.push_back(std::move(identity));
  image_edges.push_back(std::move(same_edges));
  for (std::size_t member = 0; member < orbit.images.size(); ++member) {
    for (std::size_t k = 0; k < generators.size(); ++k) {
      const int next = generators[k][at(orbit.images[member][at(source)])];
      if (member_at[at(next)] >= 0) continue;
      member_at[at(next)] = static_cast<int>(orbit.images.size());
      orbit.images.push_back(composed(orbit.images[member], generators[k]));
      image_edges.push_back(composed(image_edges[member], generator_edges[k]));
    }
  }
  DisjointSets nodes(at(graph.nodes));
  DisjointSets edges(graph.edges.size());
  // Image of the source's stabiliser: to a member, by a generator, and back from where that leads.
  const auto unite = [](DisjointSets& sets, const std::vector<int>& there,
                        const std::vector<int>& generator, const std::vector<int>& back) {
    std::vector<int> origin(back.size());
    for (std::size_t k = 0; k < back.size(); ++k) origin[at(back[k])] = static_cast<int>(k);
    for (std::size_t k = 0; k < there.size(); ++k) {
      sets.unite(static_cast<int>(k), origin[at(generator[at(there[k])])]);
    }
  };
  for (std::size_t member = 0; member < orbit.images.size(); ++member) {
    for (std::size_t k = 0; k < generators.size(); ++k) {
      const int next = generators[k][at(orbit.images[member][at(source)])];
      const auto other = at(member_at[at(next)]);
      unite(nodes, orbit.images[member], generators[k], orbit.images[other]);
      unite(edges, image_edges[member], generator_edges[k], image_edges[other]);
    }
  }
  orbit.fixed = numbered_orbits(nodes, edges);
  return orbit;
}

std::vector<char> participants(const FlowGraph& graph, const std::vector<int>& group) {
  std::vector<char> result(at(graph.nodes), 0);
  if (group.empty()) std::fill_n(result.begin(), graph.ranks, char{1});
  int before = -1;
  for (const int rank : group) {
    if (rank <= before || rank >= graph.ranks) {
      throw UserError(
          fmt::format("rank {} of the group follows rank {}; expected ascending ranks "
                      "from 0 to {}",
                      rank, before, graph.ranks - 1));
    }
    result[at(rank)] = 1;
    before = rank;
  }
  if (std::count(result.begin(), result.end(), char{1}) < 2) {
    throw UserError("a group has fewer than two ranks; a collective needs two");
  }
  return result;
}

bool conserves(const FlowGraph& graph, const std::vector<char>& participates, int node) {
  if (participates[at(node)]) return false;
  if (node < graph.ranks) return true;
  return graph.computes.empty() || graph.computes[at(node)] == 0;
}

}  // namespace cclgym::synthesis
