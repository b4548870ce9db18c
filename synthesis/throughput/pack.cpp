#include "synthesis/throughput/pack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/throughput/arborescences.hpp"
#include "synthesis/throughput/balance.hpp"
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

// `trees` trees per root at a number of trees per link unit; none if they do not fit without
// switches that copy.
std::optional<TreePacking> pack_with(FlowGraph graph, const std::vector<int>& members,
                                     std::int64_t trees, const Rational& capacity, bool rebalance,
                                     const PackOptions& options) {
  const auto demand = trees * static_cast<std::int64_t>(members.size());
  for (FlowEdge& edge : graph.edges) {
    const Product units = Product{edge.units} * capacity.numerator() / capacity.denominator();
    edge.units = static_cast<std::int64_t>(std::min<Product>(units, demand));
  }
  if (rebalance) graph = balance(graph, members, false).graph;
  std::vector<std::int64_t> capacities;
  for (const FlowEdge& edge : graph.edges) capacities.push_back(edge.units);
  std::vector<std::int64_t> counts(at(graph.ranks), 0);
  for (const int member : members) counts[at(member)] = trees;
  if (rebalance && !supports_trees(graph, capacities, counts, members)) return std::nullopt;
  const std::optional<std::vector<SplitEdge>> edges =
      remove_switches(graph, capacities, counts, members, options.method);
  if (!edges) return std::nullopt;
  const auto pack = options.shallow ? pack_shallow_trees : pack_out_trees;
  return TreePacking{.trees = on_graph(graph, pack(*edges, counts, members), *edges),
                     .capacity_numerator = capacity.numerator(),
                     .capacity_denominator = capacity.denominator()};
}

// Trees at the bound of cuts; none if a switch that is not balanced would have to copy data.
std::optional<TreePacking> pack_at_bound(const FlowGraph& graph, const std::vector<int>& members,
                                         const PackOptions& options) {
  const std::int64_t fixed = options.trees_per_root;
  if (fixed != 0) {
    const Rational rounds = allgather_bound_of_trees(graph, fixed, members);
    return pack_with(graph, members, fixed, rounds * fixed, false, options);
  }
  // With 1/x = a/b rounds per chunk, g = gcd(b, all units): b/g trees, a/g trees per unit.
  const Rational rounds = allgather_bound(graph, members).value;
  std::int64_t common = rounds.denominator();
  for (const FlowEdge& edge : graph.edges) common = std::gcd(common, edge.units);
  return pack_with(graph, members, rounds.denominator() / common,
                   Rational(rounds.numerator(), common), false, options);
}

// A number of trees per root that does not divide the units of a switch evenly: shares of a link
// are rounded, and the capacity rises in small steps until the trees fit.
TreePacking pack_above_bound(const FlowGraph& graph, const std::vector<int>& members,
                             const PackOptions& options) {
  const std::int64_t trees = options.trees_per_root;
  const Rational bound = allgather_bound_of_trees(graph, trees, members) * trees;
  constexpr int kSteps = 32;  // per doubling, about
  for (int step = 0; step < 8 * kSteps; ++step) {
    const Rational capacity = bound * Rational(kSteps + step, kSteps);
    if (auto packing = pack_with(graph, members, trees, capacity, true, options)) {
      return *std::move(packing);
    }
  }
  throw UserError(fmt::format("{} trees per root do not fit into fabric '{}'", trees, graph.name));
}

}  // namespace

TreePacking pack_trees(const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
                       const std::vector<std::int64_t>& counts, const std::vector<int>& group,
                       SplitMethod method, bool shallow) {
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
  const std::optional<std::vector<SplitEdge>> edges =
      remove_switches(graph, capacities, counts, members, method);
  if (!edges) {
    throw UserError(
        fmt::format("the trees fit into fabric '{}' only if its switches copy data: "
                    "give capacities with which every switch receives as much as it "
                    "sends",
                    graph.name));
  }
  const auto pack = shallow ? pack_shallow_trees : pack_out_trees;
  return {.trees = on_graph(graph, pack(*edges, counts, members), *edges)};
}

TreePacking pack_allgather(const FlowGraph& graph, const PackOptions& options) {
  const std::vector<int> members = members_of(graph, options.group);
  if (std::optional<TreePacking> packing = pack_at_bound(graph, members, options)) {
    return *std::move(packing);
  }
  const BalancedGraph balanced = balance(graph, members);
  std::optional<TreePacking> packing = pack_at_bound(balanced.graph, members, options);
  if (!packing) packing = pack_above_bound(balanced.graph, members, options);
  const Rational capacity =
      Rational(packing->capacity_numerator, packing->capacity_denominator) * balanced.factor;
  packing->capacity_numerator = capacity.numerator();
  packing->capacity_denominator = capacity.denominator();
  return *std::move(packing);
}

Rational rounds_per_chunk(const TreePacking& packing) {
  const std::int64_t trees = packing.trees.empty() ? 1 : packing.trees_of(packing.trees[0].root);
  return Rational(packing.capacity_numerator, packing.capacity_denominator) / trees;
}

}  // namespace cclgym::synthesis
