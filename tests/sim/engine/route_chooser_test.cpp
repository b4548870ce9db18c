// Tests of the rule by which flows choose among their routes, case by case, and of its use by the
// engines.
#include "sim/graph/route_chooser.hpp"

#include <cmath>
#include <stdexcept>
#include <tuple>

#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr double kLink_Bps = 25e9;

/// Switch a is joined to switch b directly (link 0) and through switches c, d and e (two links
/// each). Link 7 + k leads from NIC k into a; link 7 + n + k leads out of b.
struct Detours {
  explicit Detours(int count) : nics(count) {
    graph.set_link_capacities(
        std::vector<double>(static_cast<std::size_t>(7 + 2 * count), kLink_Bps));
  }
  std::int32_t route(int nic) { return add_route(graph, {7 + nic, 0, 7 + nics + nic}); }
  /// Adds a flow of 25 MB, which takes 1 ms on an idle link.
  TransferId add(int nic, double cap_Bps = kNoRateCap) {
    graph.set_alternatives(route(nic), 1, 1, detours);
    return graph.add_flow(route(nic), 25e6, 1e-6, cap_Bps);
  }
  int nics;
  TransferGraph graph;
  std::int32_t detours =
      graph.add_ways(std::vector<std::vector<std::int32_t>>{{1, 2}, {3, 4}, {5, 6}});
};

/// Records the route that each flow took: 0 is direct, 1 to 3 is a detour.
class Ways final : public FiringObserver {
 public:
  explicit Ways(const TransferGraph& graph) : ways(static_cast<std::size_t>(graph.size()), -1) {}
  void on_firing(TransferId, std::int32_t, double, double) override {}
  void on_choice(TransferId node, std::int32_t, std::int32_t way) override {
    ways[static_cast<std::size_t>(node)] = way;
  }
  std::vector<int> ways;
};

/// The routes chosen by the engines, which must agree.
std::vector<int> ways(const TransferGraph& unfinished) {
  auto graph = std::make_shared<TransferGraph>(unfinished);
  graph->finish();
  std::vector<std::vector<int>> all;
  for (const std::string& name : engine_names()) {
    Ways log(*graph);
    const auto engine = make_engine(name);
    engine->load(graph);
    engine->run(&log);
    all.push_back(log.ways);
  }
  for (const auto& other : all) CHECK(other == all.front());
  return all.front();
}

}  // namespace

TEST_CASE("an idle minimal route is taken, with the same dates as without a choice",
          "[sim][route-chooser]") {
  Detours choice(1);
  choice.add(0);
  CHECK(ways(choice.graph) == std::vector<int>{0});
  TransferGraph without;
  without.set_link_capacities({kLink_Bps});
  without.add_flow(add_route(without, {0}), 25e6, 1e-6);
  without.finish();
  choice.graph.finish();
  for (const std::string& name : engine_names()) {
    CHECK(test::run_once(name, std::make_shared<const TransferGraph>(choice.graph)) ==
          test::run_once(name, std::make_shared<const TransferGraph>(without)));
  }
}

TEST_CASE("flows that start together take different routes, in the order of their nodes",
          "[sim][route-chooser]") {
  Detours network(4);
  for (int nic = 0; nic < 4; ++nic) network.add(nic);
  CHECK(ways(network.graph) == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("with every route in use, the minimal one is taken until its queue is twice as long",
          "[sim][route-chooser]") {
  Detours network(9);
  for (int nic = 0; nic < 9; ++nic) network.add(nic);
  // A route costs its excess times its number of links. Once all four routes have a flow, a second
  // flow on the direct link costs 1 x 1, on a detour 1 x 2. A third flow on the direct link then
  // ties with a second on a detour (2 x 1 and 1 x 2), and the direct route wins because it is the
  // first. After that, detours cost 2, less than 3.
  CHECK(ways(network.graph) == std::vector<int>{0, 1, 2, 3, 0, 0, 1, 2, 3});
}

TEST_CASE("flows that fit on the minimal route together stay there", "[sim][route-chooser]") {
  Detours network(4);
  for (int nic = 0; nic < 4; ++nic) network.add(nic, kLink_Bps / 4);
  CHECK(ways(network.graph) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("flows that wait at their NIC take no detour", "[sim][route-chooser]") {
  Detours network(1);
  for (int flow = 0; flow < 4; ++flow) network.add(0);
  CHECK(ways(network.graph) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("a flow sees active flows, not finished ones", "[sim][route-chooser]") {
  Detours network(3);
  const TransferId first = network.add(0);
  const TransferId during = network.add(1);
  const TransferId after = network.add(2);
  network.graph.add_edge(network.graph.add_delay(0.5e-3), during);
  network.graph.add_edge(first, after);  // starts at the exact end of `first`
  CHECK(ways(network.graph)[0] == 0);
  CHECK(ways(network.graph)[static_cast<std::size_t>(during)] == 1);
  CHECK(ways(network.graph)[static_cast<std::size_t>(after)] == 0);
}

TEST_CASE("flows without a choice count", "[sim][route-chooser]") {
  Detours network(2);
  network.graph.add_flow(network.route(0), 25e6, 1e-6);
  const TransferId other = network.add(1);
  CHECK(ways(network.graph)[static_cast<std::size_t>(other)] == 1);
}

TEST_CASE("each firing makes its own choice", "[sim][route-chooser]") {
  // The second flow has the direct route to itself once the first is done.
  Detours network(2);
  network.add(0);
  const TransferId thrice = network.graph.add_flow(network.route(1), 25e6, 1e-6, kNoRateCap, 3);
  network.graph.set_alternatives(network.route(1), 1, 1, network.detours);
  network.graph.finish();
  struct Log final : FiringObserver {
    void on_firing(TransferId, std::int32_t, double, double) override {}
    void on_choice(TransferId node, std::int32_t iteration, std::int32_t way) override {
      taken.emplace_back(node, iteration, way);
    }
    std::vector<std::tuple<TransferId, std::int32_t, std::int32_t>> taken;
  };
  for (const std::string& name : engine_names()) {
    Log log;
    const auto engine = make_engine(name);
    engine->load(std::make_shared<const TransferGraph>(network.graph));
    engine->run(&log);
    REQUIRE(log.taken.size() == 4);
    CHECK(log.taken[1] == std::tuple{thrice, 0, 1});
    CHECK(log.taken[2] == std::tuple{thrice, 1, 0});
    CHECK(log.taken[3] == std::tuple{thrice, 2, 0});
  }
}

TEST_CASE("a choice takes time only if the flow has no latency", "[sim][route-chooser]") {
  Detours network(1);
  const TransferId flow = network.add(0);
  network.graph.add_flow(network.graph.route_of(flow), 25e6, 0);
  network.graph.add_flow(network.graph.route_of(flow), 0, 0);
  network.graph.finish();
  CHECK(network.graph.latency_s(flow) == 1e-6);
  CHECK(network.graph.latency_s(1) == TransferGraph::kRouteChoice_s);
  CHECK(network.graph.latency_s(2) == 0);
}

TEST_CASE("invalid alternatives are logic errors", "[sim][route-chooser]") {
  using Set = std::vector<std::vector<std::int32_t>>;
  TransferGraph graph;
  graph.set_link_capacities({1, 1, 1, 1});
  const std::int32_t route = add_route(graph, {0, 1});
  CHECK_THROWS_AS(graph.add_ways(Set{}), std::logic_error);
  CHECK_THROWS_AS(graph.add_ways(Set{{}}), std::logic_error);
  CHECK_THROWS_AS(graph.add_ways(Set{{2, 2}}), std::logic_error);
  CHECK_THROWS_AS(graph.add_ways(Set{{-1}}), std::logic_error);
  const std::int32_t ways = graph.add_ways(Set{{2}, {3, 2}});
  const std::int32_t others = graph.add_ways(Set{{2}});
  CHECK_THROWS_AS(graph.set_alternatives(7, 0, 1, ways), std::logic_error);
  CHECK_THROWS_AS(graph.set_alternatives(route, 0, 1, 2), std::logic_error);
  CHECK_THROWS_AS(graph.set_alternatives(route, 0, 0, ways), std::logic_error);
  CHECK_THROWS_AS(graph.set_alternatives(route, 1, 2, ways), std::logic_error);
  CHECK_THROWS_AS(graph.set_alternatives(route, -1, 1, ways), std::logic_error);
  graph.set_alternatives(route, 1, 1, ways);
  graph.set_alternatives(route, 1, 1, ways);
  CHECK_THROWS_AS(graph.set_alternatives(route, 1, 1, others), std::logic_error);
  TransferGraph twice = graph;  // an alternative that crosses a link of the rest of the route
  twice.set_alternatives(add_route(twice, {0, 2}), 0, 1, others);
  CHECK_THROWS_AS(twice.finish(), std::logic_error);
  TransferGraph beyond = graph;
  beyond.add_ways(Set{{4}});
  CHECK_THROWS_AS(beyond.finish(), std::logic_error);
  graph.finish();
  CHECK(graph.adaptive());
  CHECK(graph.ways(route) == 3);
  std::vector<std::int32_t> links;
  graph.links_on_way(route, 0, links);
  CHECK(links == std::vector<std::int32_t>{0, 1});
  graph.links_on_way(route, 2, links);
  CHECK(links == std::vector<std::int32_t>{0, 3, 2});
  CHECK_THROWS_AS(graph.set_alternatives(route, 1, 1, ways), std::logic_error);
  TransferGraph copy;
  copy.set_link_capacities({1, 1, 1, 1});
  copy.copy_routes(graph);
  CHECK(add_route(copy, {0, 1}) == route);
  CHECK_THROWS_AS(copy.copy_routes(graph), std::logic_error);
  copy.finish();
  CHECK(copy.ways(route) == 3);
}
