#include "sim/graph/transfer_graph.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using cclgym::test::add_route;

TEST_CASE("a transfer graph returns its input", "[sim][transfer-graph]") {
  TransferGraph graph;
  graph.set_link_capacities({1e9, 2e9, 3e9});
  const auto first = add_route(graph, {0, 2});
  const auto second = add_route(graph, {2, 0});
  CHECK(first != second);
  CHECK(add_route(graph, {0, 2}) == first);
  const auto flow = graph.add_flow(second, 12.5, 1e-6, 5e8, 3);
  const auto delay = graph.add_delay(2e-6);
  const auto last = graph.add_flow(first, 0, 0);
  graph.add_edge(delay, last);
  graph.add_edge(flow, last, 1);
  graph.add_edge(flow, delay);
  graph.add_unsatisfiable_dependency(delay);
  CHECK_FALSE(graph.finished());
  graph.finish();
  REQUIRE(graph.finished());
  CHECK(graph.size() == 3);
  CHECK(graph.firings() == 5);
  CHECK(graph.flow_firings() == 4);
  CHECK(graph.folded());
  CHECK(graph.bytes(flow) == 12.5);
  CHECK(graph.latency_s(flow) == 1e-6);
  CHECK(graph.rate_cap_Bps(flow) == 5e8);
  CHECK(graph.rate_cap_Bps(last) == kNoRateCap);
  CHECK(graph.repeat(flow) == 3);
  CHECK(graph.route_of(delay) == -1);
  CHECK(graph.latency_s(delay) == 2e-6);
  REQUIRE(graph.route_links(graph.route_of(flow)).size() == 2);
  CHECK(graph.route_links(graph.route_of(flow))[0] == 2);
  REQUIRE(graph.successors(flow).size() == 2);
  CHECK(graph.successors(flow)[0].target == last);
  CHECK(graph.successors(flow)[0].lag == 1);
  CHECK(graph.successors(flow)[1].target == delay);
  CHECK(graph.first_edge(delay) == 2);
  CHECK(graph.edges() == 3);
  CHECK(graph.dependencies(delay) == 2);
  CHECK(graph.dependencies(last) == 2);
  CHECK(graph.dependencies(flow) == 0);
}

TEST_CASE("routes are interned whatever their number", "[sim][transfer-graph]") {
  std::mt19937 random(1);
  TransferGraph graph;
  std::vector<std::vector<std::int32_t>> routes;
  for (std::int32_t link = 0; link < 2000; ++link) {
    routes.push_back({link % 50, 50 + link / 50, 100});
    if (link % 3 == 0) {
      routes.back().pop_back();
    }
  }
  std::vector<std::int32_t> ids;
  for (const auto& route : routes) {
    ids.push_back(graph.add_route(route));
  }
  CHECK(graph.routes() == 2000);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    REQUIRE(graph.add_route(routes[i]) == ids[i]);
  }
  CHECK(graph.routes() == 2000);
}

TEST_CASE("a plain graph is not folded", "[sim][transfer-graph]") {
  TransferGraph graph;
  const auto one = graph.add_delay(1);
  const auto two = graph.add_delay(1);
  graph.add_edge(one, two);
  graph.finish();
  CHECK_FALSE(graph.folded());
  CHECK(graph.flow_firings() == 0);
}

TEST_CASE("misuse of a transfer graph is a logic error", "[sim][transfer-graph]") {
  TransferGraph graph;
  graph.set_link_capacities({1e9});
  const auto route = add_route(graph, {0});
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(graph.set_link_capacities({0.0}), std::logic_error);
  CHECK_THROWS_AS(graph.set_link_capacities({infinity}), std::logic_error);
  CHECK_THROWS_AS(add_route(graph, {0, 0}), std::logic_error);
  CHECK_THROWS_AS(add_route(graph, {-1}), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route + 1, 1, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(-1, 1, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, -1, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, nan, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, infinity, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, 1, -1e-9), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, 1, 0, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, 1, 0, nan), std::logic_error);
  CHECK_THROWS_AS(graph.add_flow(route, 1, 0, 1, 0), std::logic_error);
  CHECK_THROWS_AS(graph.add_delay(nan), std::logic_error);
  const auto flow = graph.add_flow(route, 1, 0);
  CHECK_THROWS_AS(graph.add_edge(flow, flow + 1), std::logic_error);
  CHECK_THROWS_AS(graph.add_edge(-1, flow), std::logic_error);
  CHECK_THROWS_AS(graph.add_edge(flow, flow, -2), std::logic_error);
  CHECK_THROWS_AS(graph.add_unsatisfiable_dependency(7), std::logic_error);
  graph.finish();
  CHECK_THROWS_AS(graph.finish(), std::logic_error);
  CHECK_THROWS_AS(graph.add_delay(1), std::logic_error);

  TransferGraph off_the_map;
  off_the_map.set_link_capacities({1e9});
  add_route(off_the_map, {1});
  CHECK_THROWS_AS(off_the_map.finish(), std::logic_error);
}

TEST_CASE("a graph with other costs has the same structure", "[sim][transfer-graph]") {
  TransferGraph graph;
  graph.set_link_capacities({1e9});
  const std::int32_t route = graph.add_route(std::vector<std::int32_t>{0});
  const TransferId delay = graph.add_delay(1);
  const TransferId flow = graph.add_flow(route, 1e6, 0, kNoRateCap, 2);
  graph.add_edge(delay, flow, TransferGraph::kFirstOnly);
  graph.finish();
  TransferGraph::Costs costs{.bytes = {0, 2e6},
                             .latency_s = {3, 0.5},
                             .rate_cap_Bps = {kNoRateCap, 1e8},
                             .repeat = {1, 4},
                             .capacity_Bps = {2e9}};
  const TransferGraph other = graph.with_costs(costs);
  CHECK(other.size() == 2);
  CHECK(other.firings() == 5);
  CHECK(other.flow_firings() == 4);
  CHECK(other.bytes(flow) == 2e6);
  CHECK(other.latency_s(delay) == 3);
  CHECK(other.rate_cap_Bps(flow) == 1e8);
  CHECK(other.link_capacities_Bps().front() == 2e9);
  CHECK(other.successors(delay).front().lag == TransferGraph::kFirstOnly);
  CHECK(other.dependencies(flow) == 1);
  CHECK(other.folded());
  CHECK(graph.firings() == 3);
  costs.repeat.pop_back();
  CHECK_THROWS_AS(graph.with_costs(costs), std::logic_error);
}
