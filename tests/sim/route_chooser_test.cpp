// The rule by which flows choose among their routes, case by case, and that engines follow it.
#include "sim/route_chooser.hpp"

#include <cmath>
#include <stdexcept>
#include <tuple>

#include "catch.hpp"
#include "engine_testing.hpp"

using namespace cclgym;
using namespace cclgym::testing;

namespace {

constexpr double kLink_Bps = 25e9;

/// Switch a is joined to switch b directly (link 0) and through switches c, d and e (two links
/// each). Link 7 + k leads into a, from NIC k; link 7 + n + k out of b.
struct Detours {
  explicit Detours(int count) : nics(count) {
    graph.set_link_capacities(
        std::vector<double>(static_cast<std::size_t>(7 + 2 * count), kLink_Bps));
  }
  std::int32_t route(int nic, std::vector<std::int32_t> between) {
    between.insert(between.begin(), 7 + nic);
    between.push_back(7 + nics + nic);
    return graph.add_route(between);
  }
  /// A flow of 25 MB, 1 ms on an idle link.
  TransferId add(int nic, double cap_Bps = kNoRateCap) {
    const std::int32_t direct = route(nic, {0});
    const std::vector<std::int32_t> others{route(nic, {1, 2}), route(nic, {3, 4}),
                                           route(nic, {5, 6})};
    graph.set_alternatives(direct, others);
    return graph.add_flow(direct, 25e6, 1e-6, cap_Bps);
  }
  int nics;
  TransferGraph graph;
};

/// Which way each flow took: 0 is direct, 1 to 3 a detour.
class Ways final : public FiringObserver {
 public:
  explicit Ways(const TransferGraph& graph) : graph_(graph) {}
  void on_firing(TransferId, std::int32_t, double, double) override {}
  void on_route(TransferId node, std::int32_t, std::int32_t route) override {
    ways.resize(static_cast<std::size_t>(graph_.size()), -1);
    ways[static_cast<std::size_t>(node)] = (graph_.route_links(route)[1] + 1) / 2;
  }
  std::vector<int> ways;

 private:
  const TransferGraph& graph_;
};

/// Of the engines, which must agree.
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

TEST_CASE("an idle minimal way is taken, and the dates are as without a choice") {
  Detours choice(1);
  choice.add(0);
  CHECK(ways(choice.graph) == std::vector<int>{0});
  TransferGraph without;
  without.set_link_capacities({kLink_Bps});
  without.add_flow(add_route(without, {0}), 25e6, 1e-6);
  without.finish();
  choice.graph.finish();
  for (const std::string& name : engine_names()) {
    CHECK(testing::run_once(name, std::make_shared<const TransferGraph>(choice.graph)) ==
          testing::run_once(name, std::make_shared<const TransferGraph>(without)));
  }
}

TEST_CASE("flows that start together take ways of their own, in the order of their nodes") {
  Detours network(4);
  for (int nic = 0; nic < 4; ++nic) network.add(nic);
  CHECK(ways(network.graph) == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("with every way taken, the minimal one is taken until it queues twice as much") {
  Detours network(9);
  for (int nic = 0; nic < 9; ++nic) network.add(nic);
  // Excess 1 on one link costs as much as 0.5 on two. Once all four have a flow: a second on the
  // direct link, 1 x 1 against 1 x 2; a third there ties with a second elsewhere, 2 x 1 and 1 x 2,
  // and comes first; then detours cost 2, less than 3.
  CHECK(ways(network.graph) == std::vector<int>{0, 1, 2, 3, 0, 0, 1, 2, 3});
}

TEST_CASE("flows that fit on the minimal way together stay there") {
  Detours network(4);
  for (int nic = 0; nic < 4; ++nic) network.add(nic, kLink_Bps / 4);
  CHECK(ways(network.graph) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("flows that wait at their NIC anyway make no detour") {
  Detours network(1);
  for (int flow = 0; flow < 4; ++flow) network.add(0);
  CHECK(ways(network.graph) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("a flow sees those that move, not those that are done") {
  Detours network(3);
  const TransferId first = network.add(0);
  const TransferId during = network.add(1);
  const TransferId after = network.add(2);
  network.graph.add_edge(network.graph.add_delay(0.5e-3), during);
  network.graph.add_edge(first, after);  // starts at the very date at which `first` ends
  CHECK(ways(network.graph)[0] == 0);
  CHECK(ways(network.graph)[static_cast<std::size_t>(during)] == 1);
  CHECK(ways(network.graph)[static_cast<std::size_t>(after)] == 0);
}

TEST_CASE("flows without a choice count") {
  Detours network(2);
  network.graph.add_flow(network.route(0, {0}), 25e6, 1e-6);
  const TransferId other = network.add(1);
  CHECK(ways(network.graph)[static_cast<std::size_t>(other)] == 1);
}

TEST_CASE("each firing chooses anew") {
  // Two flows of four firings. The second has the direct way for itself once the first is over.
  Detours network(2);
  network.add(0);
  const std::int32_t direct = network.route(1, {0});
  const std::vector<std::int32_t> others{network.route(1, {1, 2})};
  network.graph.set_alternatives(direct, others);
  network.graph.add_flow(direct, 25e6, 1e-6, kNoRateCap, 3);
  network.graph.finish();
  struct Log final : FiringObserver {
    void on_firing(TransferId, std::int32_t, double, double) override {}
    void on_route(TransferId node, std::int32_t iteration, std::int32_t route) override {
      taken.emplace_back(node, iteration, route);
    }
    std::vector<std::tuple<TransferId, std::int32_t, std::int32_t>> taken;
  };
  for (const std::string& name : engine_names()) {
    Log log;
    const auto engine = make_engine(name);
    engine->load(std::make_shared<const TransferGraph>(network.graph));
    engine->run(&log);
    REQUIRE(log.taken.size() == 4);
    CHECK(log.taken[1] == std::tuple<TransferId, std::int32_t, std::int32_t>{1, 0, others[0]});
    CHECK(log.taken[2] == std::tuple<TransferId, std::int32_t, std::int32_t>{1, 1, direct});
    CHECK(log.taken[3] == std::tuple<TransferId, std::int32_t, std::int32_t>{1, 2, direct});
  }
}

TEST_CASE("choosing takes time only where there is no latency to do it in") {
  Detours network(1);
  const TransferId flow = network.add(0);
  network.graph.add_flow(network.graph.route_of(flow), 25e6, 0);
  network.graph.add_flow(network.graph.route_of(flow), 0, 0);
  network.graph.finish();
  CHECK(network.graph.latency_s(flow) == 1e-6);
  CHECK(network.graph.latency_s(1) == TransferGraph::kRouteChoice_s);
  CHECK(network.graph.latency_s(2) == 0);
}

TEST_CASE("alternatives that cannot be are logic errors") {
  TransferGraph graph;
  graph.set_link_capacities({1, 1, 1});
  const std::int32_t a = add_route(graph, {0});
  const std::int32_t b = add_route(graph, {1});
  const std::int32_t c = add_route(graph, {2});
  const std::int32_t empty = add_route(graph, {});
  const auto set = [&](std::int32_t route, std::initializer_list<std::int32_t> alternatives) {
    const std::vector<std::int32_t> list(alternatives);
    graph.set_alternatives(route, list);
  };
  CHECK_THROWS_AS(set(a, {a}), std::logic_error);
  CHECK_THROWS_AS(set(a, {b, b}), std::logic_error);
  CHECK_THROWS_AS(set(a, {7}), std::logic_error);
  CHECK_THROWS_AS(set(a, {empty}), std::logic_error);
  CHECK_THROWS_AS(set(empty, {a}), std::logic_error);
  set(a, {b, c});
  set(a, {b, c});
  CHECK_THROWS_AS(set(a, {c, b}), std::logic_error);
  graph.finish();
  CHECK(graph.adaptive());
  CHECK(graph.alternatives(a).size() == 2);
  CHECK(graph.alternatives(b).empty());
  CHECK_THROWS_AS(set(a, {b, c}), std::logic_error);
}
