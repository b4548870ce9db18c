// Nodes that share their numbers, edges without lags, and what both save.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <vector>

#include "sim/engine/engine_random_graphs.hpp"
#include "sim/engine/engine_testing.hpp"
#include "sim/graph/transfer_graph.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

/// Nodes and edges that a graph was given.
struct Given {
  std::vector<NodeShape> nodes;
  std::vector<std::vector<TransferGraph::Edge>> edges;  ///< by source
  std::vector<std::int32_t> dependencies;
};

/// Adds random nodes, of `distinct` different shapes, and edges between them.
Given add_random(TransferGraph& graph, Dice& dice, std::int32_t nodes, std::int32_t distinct,
                 std::int32_t edges, bool in_order, bool folded) {
  Given given;
  for (std::int32_t i = 0; i < nodes; ++i) {
    const std::int32_t kind = dice.between(0, distinct - 1);
    const std::int32_t repeat = folded ? 1 + kind % 5 : 1;
    NodeShape shape{0, 1e-6 * kind, kNoRateCap, -1, repeat};
    if (kind % 3 == 0) {
      shape.repeat = kind % 2 == 0 ? -repeat : repeat;
      (void)graph.add_delay(shape.latency_s, repeat, kind % 2 == 0);
    } else {
      shape.route = kind % graph.routes();
      shape.bytes = kind;
      shape.rate_cap_Bps = 1e9 + kind % 7;
      (void)graph.add_flow(shape.route, shape.bytes, shape.latency_s, shape.rate_cap_Bps, repeat);
    }
    given.nodes.push_back(shape);
  }
  given.edges.resize(given.nodes.size());
  given.dependencies.resize(given.nodes.size());
  std::vector<TransferId> sources;
  for (std::int32_t i = 0; i < edges; ++i) sources.push_back(dice.between(0, nodes - 1));
  if (in_order) std::ranges::sort(sources);
  for (const TransferId source : sources) {
    const TransferId target = dice.chance(0.2) ? 0 : dice.between(0, nodes - 1);
    const std::int32_t lag = folded && dice.chance(0.01) ? dice.between(1, 3) : 0;
    graph.add_edge(source, target, lag);
    given.edges[at(source)].push_back({target, lag});
    ++given.dependencies[at(target)];
  }
  return given;
}

/// True if the nodes from number `first` on are those of `given`.
bool has(const TransferGraph& graph, const Given& given, TransferId first = 0,
         std::int32_t most = std::numeric_limits<std::int32_t>::max()) {
  std::vector<std::int32_t> counts(at(graph.size()));
  graph.copy_dependencies(counts);
  for (std::size_t i = 0; i < given.nodes.size(); ++i) {
    const NodeShape& node = given.nodes[i];
    const TransferId id = first + static_cast<TransferId>(i);
    if (graph.bytes(id) != node.bytes || graph.latency_s(id) != node.latency_s ||
        graph.rate_cap_Bps(id) != node.rate_cap_Bps || graph.route_of(id) != node.route ||
        graph.repeat(id) != std::min(node.firings(), most) ||
        graph.overlapping(id) != node.overlapping() ||
        graph.dependencies(id) != given.dependencies[i] ||
        counts[at(id)] != given.dependencies[i]) {
      return false;
    }
    const EdgeRow row = graph.successors(id);
    if (!std::ranges::equal(row, given.edges[i], [first](const auto& a, const auto& b) {
          return a.target == first + b.target && a.lag == b.lag;
        })) {
      return false;
    }
    for (std::size_t edge = 0; edge < row.size(); ++edge) {
      if (row[edge].target != first + given.edges[i][edge].target) return false;
    }
    if (graph.folded()) continue;
    const auto targets = graph.targets(id);
    if (!std::ranges::equal(targets, given.edges[i], {}, {}, &TransferGraph::Edge::target)) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a graph returns all its nodes and edges, however many of them are alike",
          "[sim][transfer-graph]") {
  const auto own = static_cast<std::int32_t>(NodeShapes::kOwn);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Dice dice(seed);
    const auto one_of = [&dice](std::initializer_list<std::int32_t> values) {
      return values.begin()[dice.between(0, static_cast<std::int32_t>(values.size()) - 1)];
    };
    const std::int32_t nodes =
        one_of({dice.between(1, 50), own - 1, own, own + 1, 5 * own, 9 * own + 5});
    const std::int32_t distinct = one_of({1, 30, 3000, 1'000'000});
    const bool folded = dice.chance(0.5);
    const bool in_order = dice.chance(0.5);
    CAPTURE(seed, nodes, distinct, folded, in_order);
    TransferGraph graph;
    graph.set_link_capacities({1e9, 2e9});
    add_route(graph, {0});
    add_route(graph, {1});
    const Given given =
        add_random(graph, dice, nodes, distinct, dice.between(0, 3 * nodes), in_order, folded);
    graph.finish();
    REQUIRE(has(graph, given));
    REQUIRE(has(graph.truncated(2), given, 0, 2));
    TransferGraph::Costs costs;
    costs.capacity_Bps = {1e9, 2e9};
    for (const NodeShape& node : given.nodes) {
      costs.bytes.push_back(node.bytes);
      costs.latency_s.push_back(node.latency_s);
      costs.rate_cap_Bps.push_back(node.rate_cap_Bps);
      costs.repeat.push_back(node.firings());
    }
    const TransferGraph priced = graph.with_costs(std::move(costs));
    REQUIRE(has(priced, given));

    // Nodes of the background are never those that truncated() changes.
    TransferGraph others;
    others.set_link_capacities({1e9, 2e9});
    add_route(others, {0});
    add_route(others, {1});
    const std::int32_t more = one_of({3, own, 3 * own});
    const Given background =
        add_random(others, dice, more, distinct, more, dice.chance(0.5), dice.chance(0.5));
    others.finish();
    const TransferGraph both = graph.with_background(others);
    REQUIRE(has(both, given));
    REQUIRE(has(both, background, graph.size()));
    const TransferGraph fewer = both.truncated(2);
    REQUIRE(has(fewer, given, 0, 2));
    REQUIRE(has(fewer, background, graph.size()));
  }
}

TEST_CASE("a node of a large graph takes few bytes", "[sim][transfer-graph]") {
  constexpr std::int32_t kRanks = 64;
  constexpr std::int32_t kSteps = 1000;
  const auto bytes_per_node = [](bool alike, bool in_order, std::int32_t lag) {
    TransferGraph graph;
    graph.set_link_capacities(std::vector<double>(kRanks, 1e9));
    for (std::int32_t rank = 0; rank < kRanks; ++rank) add_route(graph, {rank});
    for (std::int32_t step = 0; step < kSteps; ++step) {
      for (std::int32_t rank = 0; rank < kRanks; ++rank) {
        graph.add_flow(rank, 1e6, alike ? 1e-6 : 1e-6 * step * rank);
      }
    }
    for (std::int32_t i = 0; i + 1 < kSteps; ++i) {
      const std::int32_t step = in_order ? i : kSteps - 2 - i;
      for (std::int32_t rank = 0; rank < kRanks; ++rank) {
        graph.add_edge(step * kRanks + rank, (step + 1) * kRanks + rank, lag);
        graph.add_edge(step * kRanks + rank, (step + 1) * kRanks + (rank + 1) % kRanks, lag);
      }
    }
    graph.finish();
    return static_cast<double>(graph.memory_bytes()) / graph.size();
  };
  // A number, a count of dependencies, a row, and two edges; a lag takes four bytes more.
  CHECK(bytes_per_node(true, true, 0) < 4 + 1 + 4 + 2 * 4 + 0.1);
  CHECK(bytes_per_node(true, false, 0) < 4 + 1 + 4 + 2 * 4 + 0.1);
  CHECK(bytes_per_node(true, true, 1) < 4 + 1 + 4 + 2 * 8 + 0.1);
  CHECK(bytes_per_node(false, true, 0) < 32 + 1 + 4 + 2 * 4 + 0.1);
}
