// Tests of links that stand for several units, some of which nodes take for a while.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/random.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Chains of delays and flows; every chain takes units of one of two links for a while, over which
// other flows move.
std::shared_ptr<const TransferGraph> random_graph(std::uint64_t seed) {
  Random random = Random::stream(seed, {1});
  TransferGraph graph;
  graph.set_link_capacities({1e9, 2e9, 3e9, 1.5e9});
  for (std::int32_t link = 0; link < 2; ++link) graph.set_link_units(link, 4 + 3 * link);
  const std::int32_t routes[] = {add_route(graph, {0}), add_route(graph, {1}),
                                 add_route(graph, {2, 3}), add_route(graph, {3})};
  for (int chain = 0; chain < 12; ++chain) {
    TransferId last = -1;
    const auto link = static_cast<std::int32_t>(random.integer(0, 1));
    const auto units = static_cast<std::int32_t>(random.integer(0, 3)) + 1;
    for (int step = 0; step < 6; ++step) {
      const TransferId node =
          random.integer(0, 2) == 0
              ? graph.add_delay(random.uniform() * 1e-2)
              : graph.add_flow(routes[at(random.integer(0, 3))], 1e6 + random.uniform() * 3e7,
                               random.uniform() * 1e-3);
      if (last >= 0) graph.add_edge(last, node);
      if (step == 1) graph.add_hold(node, link, units);
      if (step == 4) graph.add_hold(node, link, -units);
      last = node;
    }
  }
  return finished(std::move(graph));
}

}  // namespace

TEST_CASE("units that are taken are missing until they are given back", "[sim][engine-holds]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    TransferGraph graph;
    graph.set_link_capacities({1e9});
    graph.set_link_units(0, 4);
    const TransferId compute = graph.add_flow(add_route(graph, {0}), 4e9, 0);
    const TransferId taken = graph.add_delay(1);
    const TransferId given = graph.add_delay(2);
    graph.add_edge(taken, given);
    graph.add_hold(taken, 0, 3);
    graph.add_hold(given, 0, -3);
    // 1 GB in the first second, a quarter of the rate for two seconds, 2.5 GB after that.
    const Times times = run_once(name, finished(std::move(graph)));
    CHECK(std::abs(times.end_s[at(compute)] - 5.5) < 1e-12);
  }
}

TEST_CASE("one unit is always left", "[sim][engine-holds]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    TransferGraph graph;
    graph.set_link_capacities({1e9});
    graph.set_link_units(0, 4);
    const TransferId start = graph.add_delay(0);
    graph.add_hold(start, 0, 9);
    const TransferId compute = graph.add_flow(add_route(graph, {0}), 1e9, 0);
    const Times times = run_once(name, finished(std::move(graph)));
    CHECK(std::abs(times.end_s[at(compute)] - 4) < 1e-12);
  }
}

TEST_CASE("engines agree on graphs in which units are taken", "[sim][engine-holds]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto graph = random_graph(seed);
    std::vector<Times> times;
    for (const std::string& name : engine_names()) times.push_back(run_once(name, graph));
    for (std::size_t node = 0; node < times[0].end_s.size(); ++node) {
      for (const Times& other : times) {
        CAPTURE(seed, node);
        CHECK(std::abs(other.end_s[node] - times[0].end_s[node]) <= 1e-9 * times[0].end_s[node]);
      }
    }
    // Another run begins with all units.
    const auto engine = make_engine("flow");
    engine->load(graph);
    const Times first = copy_of(engine->run());
    CHECK(copy_of(engine->run()) == first);
  }
}

TEST_CASE("units need a link that is alone on its routes", "[sim][engine-holds]") {
  TransferGraph graph;
  graph.set_link_capacities({1e9, 1e9});
  CHECK_THROWS_AS(graph.add_hold(graph.add_delay(0), 0, 1), std::logic_error);
  CHECK_THROWS_AS(graph.set_link_units(2, 1), std::logic_error);
  CHECK_THROWS_AS(graph.set_link_units(0, 0), std::logic_error);
  graph.set_link_units(0, 2);
  graph.add_flow(add_route(graph, {0, 1}), 1, 0);
  graph.add_hold(0, 0, 1);
  CHECK_THROWS_AS(graph.finish(), std::logic_error);
}
