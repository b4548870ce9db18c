#include "synthesis/throughput/pack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/throughput/arborescences.hpp"
#include "synthesis/throughput/product.hpp"

namespace cclgym::synthesis {

namespace {

// Appends a path to a tree. A rank on the path that has no part in the collective receives the data
// and sends it on, also to the paths that come later.
void append_path(Tree& tree, std::vector<char>& has, const FlowGraph& graph, const SplitEdge& edge,
                 const std::vector<int>& through) {
  TreeEdge hop{.source = edge.source};
  const auto arrive = [&](int rank) {
    if (has[at(rank)]) {
      hop = {.source = rank};
      return;
    }
    has[at(rank)] = 1;
    hop.target = rank;
    tree.edges.push_back(hop);
    hop = {.source = rank};
  };
  for (const int node : through) {
    if (node < graph.ranks) {
      arrive(node);
    } else {
      hop.through.push_back(node);
    }
  }
  arrive(edge.target);
}

// Trees over split edges as trees over the graph: each takes the first path of every edge that has
// units left, so that a tree may have to be divided.
std::vector<Tree> on_graph(const FlowGraph& graph, const std::vector<OutTree>& out_trees,
                           std::vector<SplitEdge> edges) {
  std::vector<std::size_t> first(edges.size(), 0);  // path with units left, by edge
  std::vector<Tree> trees;
  for (const OutTree& out_tree : out_trees) {
    std::int64_t left = out_tree.count;
    while (left > 0) {
      std::int64_t count = left;
      for (const int edge : out_tree.edges) {
        count = std::min(count, edges[at(edge)].paths[first[at(edge)]].units);
      }
      Tree& tree = trees.emplace_back(Tree{.root = out_tree.root, .count = count});
      tree.edges.reserve(out_tree.edges.size());
      std::vector<char> has(at(graph.ranks), 0);
      has[at(out_tree.root)] = 1;
      for (const int edge : out_tree.edges) {
        SplitPath& path = edges[at(edge)].paths[first[at(edge)]];
        append_path(tree, has, graph, edges[at(edge)], path.through);
        path.units -= count;
        if (path.units == 0) ++first[at(edge)];
      }
      left -= count;
    }
  }
  return trees;
}

}  // namespace

TreePacking pack_trees(const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
                       const std::vector<std::int64_t>& counts, const std::vector<int>& group,
                       SplitMethod method) {
  const std::vector<int> members = members_of(graph, group);
  if (capacities.size() != graph.edges.size() || counts.size() != at(graph.ranks)) {
    throw UserError(fmt::format("{} capacities and {} counts; expected {} and {}",
                                capacities.size(), counts.size(), graph.edges.size(), graph.ranks));
  }
  for (int rank = 0; rank < graph.ranks; ++rank) {
    const bool member = std::binary_search(members.begin(), members.end(), rank);
    if (counts[at(rank)] < 0 || (!member && counts[at(rank)] > 0)) {
      throw UserError(fmt::format("{} trees of rank {}, which is {}", counts[at(rank)], rank,
                                  member ? "in the group" : "not in the group"));
    }
  }
  const std::vector<SplitEdge> edges = remove_switches(graph, capacities, counts, members, method);
  return {.trees = on_graph(graph, pack_out_trees(edges, counts, members), edges)};
}

TreePacking pack_allgather(const FlowGraph& graph, const PackOptions& options) {
  const std::vector<int> members = members_of(graph, options.group);
  std::int64_t trees = options.trees_per_root;
  Rational capacity;  // trees per link unit
  if (trees == 0) {
    // With 1/x = a/b rounds per chunk, g = gcd(b, all units): b/g trees, a/g trees per unit.
    const Rational rounds = allgather_bound(graph, members).value;
    std::int64_t common = rounds.denominator();
    for (const FlowEdge& edge : graph.edges) common = std::gcd(common, edge.units);
    trees = rounds.denominator() / common;
    capacity = Rational(rounds.numerator(), common);
  } else {
    capacity = allgather_bound_of_trees(graph, trees, members) * trees;
  }
  const auto demand = trees * static_cast<std::int64_t>(members.size());
  std::vector<std::int64_t> capacities;
  for (const FlowEdge& edge : graph.edges) {
    const Product units = Product{edge.units} * capacity.numerator() / capacity.denominator();
    capacities.push_back(static_cast<std::int64_t>(std::min<Product>(units, demand)));
  }
  std::vector<std::int64_t> counts(at(graph.ranks), 0);
  for (const int member : members) counts[at(member)] = trees;
  TreePacking packing = pack_trees(graph, capacities, counts, members, options.method);
  packing.capacity_numerator = capacity.numerator();
  packing.capacity_denominator = capacity.denominator();
  return packing;
}

Rational rounds_per_chunk(const TreePacking& packing) {
  const std::int64_t trees = packing.trees.empty() ? 1 : packing.trees_of(packing.trees[0].root);
  return Rational(packing.capacity_numerator, packing.capacity_denominator) / trees;
}

}  // namespace cclgym::synthesis
