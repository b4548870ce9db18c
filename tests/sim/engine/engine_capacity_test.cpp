// Tests of links whose capacity changes, and of flows of other jobs in addition to those of the
// graph: closed forms, misuse, and no effect of unused features.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/engine/engine_testing.hpp"
#include "sim/graph/capacity_process.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

Times run_with_changes(const std::string& engine_name, std::shared_ptr<const TransferGraph> graph,
                       std::vector<CapacityChange> changes) {
  const auto engine = make_engine(engine_name);
  engine->load(std::move(graph));
  CapacitySchedule schedule(std::move(changes));
  return copy_of(engine->run(nullptr, &schedule));
}

/// A link that alternates between 1 and 2 GB/s forever, and counts the calls.
class Alternating final : public CapacityProcess {
 public:
  explicit Alternating(double period_s) : period_s_(period_s) {}
  void restart() override { drawn_ = 0; }
  std::optional<CapacityChange> next() override {
    ++drawn_;
    return CapacityChange{drawn_ * period_s_, 0, drawn_ % 2 == 0 ? 1e9 : 2e9};
  }
  [[nodiscard]] int drawn() const { return drawn_; }

 private:
  double period_s_;
  int drawn_ = 0;
};

/// A graph of `flows` flows of 1 GB over link 0, of 1 GB/s.
std::shared_ptr<const TransferGraph> on_one_link(int flows, double cap_Bps = kNoRateCap) {
  TransferGraph graph;
  graph.set_link_capacities({1e9, 4e9});
  const std::int32_t route = add_route(graph, {0});
  for (int flow = 0; flow < flows; ++flow) graph.add_flow(route, 1e9, 0, cap_Bps);
  return finished(std::move(graph));
}

}  // namespace

TEST_CASE("a flow moves at the current capacity", "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    // The flow moves 0.25 GB at 1 GB/s, 0.25 GB at 0.5 GB/s, 0.5 GB at 2 GB/s.
    const Times slow_then_fast =
        run_with_changes(name, on_one_link(1), {{0.25, 0, 0.5e9}, {0.75, 0, 2e9}, {5, 0, 1}});
    CHECK(std::abs(slow_then_fast.makespan_s - 1) < 1e-12);
    // Two flows share the capacity and move 2 GB in 0.5 s at 1 GB/s and 0.5 s at 3 GB/s.
    CHECK(std::abs(run_with_changes(name, on_one_link(2), {{0.5, 0, 3e9}}).makespan_s - 1) < 1e-12);
    // A cap applies at any capacity: 0.5 s at 0.8 GB/s, 0.4 GB/s for 0.5 s, 0.8 GB/s again.
    CHECK(std::abs(run_with_changes(name, on_one_link(1, 0.8e9),
                                    {{0, 0, 9e9}, {0.5, 0, 0.4e9}, {1, 0, 9e9}})
                       .makespan_s -
                   1.5) < 1e-12);
    // Two changes at date 0, and a change of an unused link.
    CHECK(std::abs(run_with_changes(name, on_one_link(1), {{0, 0, 7e9}, {0, 0, 4e9}, {0.1, 1, 1}})
                       .makespan_s -
                   0.25) < 1e-12);
  }
}

TEST_CASE("a link becomes a bottleneck, and stops being one", "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    TransferGraph graph;
    graph.set_link_capacities({1e9, 4e9});
    graph.add_flow(add_route(graph, {0, 1}), 1e9, 0);  // bound by link 0
    graph.add_flow(add_route(graph, {1}), 3e9, 0);     // gets the rest of link 1
    const auto both = finished(std::move(graph));
    CHECK(std::abs(run_once(name, both).makespan_s - 1) < 1e-12);
    // From 0.5 s on, link 1 has 1 GB/s. The flows have 0.5 GB and 1.5 GB left and move at 0.5 GB/s
    // each until the first is done at 1.5 s. The second then moves 1 GB at 1 GB/s.
    const Times halved = run_with_changes(name, both, {{0.5, 1, 1e9}});
    CHECK(std::abs(halved.end_s[0] - 1.5) < 1e-12);
    CHECK(std::abs(halved.end_s[1] - 2.5) < 1e-12);
    // With link 0 at 4 GB/s, both flows get an equal share of link 1.
    const Times widened = run_with_changes(name, both, {{0, 0, 4e9}});
    CHECK(std::abs(widened.end_s[0] - 0.5) < 1e-12);
    CHECK(std::abs(widened.end_s[1] - 1) < 1e-12);
  }
}

TEST_CASE("a process may be endless: changes are drawn on demand", "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    const auto engine = make_engine(name);
    engine->load(on_one_link(1));
    Alternating process(0.01);
    const Times times = copy_of(engine->run(nullptr, &process));
    // The capacity allows 10 MB, then 66 times 20 MB and 10 MB in turn.
    CHECK(std::abs(times.makespan_s - 0.67) < 1e-12);
    CHECK(process.drawn() <= 68);
    CHECK(copy_of(engine->run(nullptr, &process)) == times);
    CHECK(std::abs(engine->run().makespan_s - 1) < 1e-15);
  }
}

TEST_CASE("capacity changes and a background leave no trace in later runs",
          "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    const auto engine = make_engine(name);
    engine->load(on_one_link(3));
    const Times before = copy_of(engine->run());
    CapacitySchedule none({});
    CapacitySchedule some({{0.1, 0, 3e9}, {0.2, 0, 5e8}});
    const Times changed = copy_of(engine->run(nullptr, &some));
    CHECK(changed.makespan_s != before.makespan_s);
    CHECK(copy_of(engine->run()) == before);
    CHECK(std::abs(engine->run(nullptr, &none).makespan_s / before.makespan_s - 1) < 1e-15);
    CHECK(copy_of(engine->run(nullptr, &some)) == changed);
  }
}

TEST_CASE("invalid capacity changes are logic errors", "[sim][engine-capacity]") {
  CHECK_THROWS_AS(CapacitySchedule({{1, 0, 1e9}, {0.5, 0, 1e9}}), std::logic_error);
  CHECK_THROWS_AS(CapacitySchedule({{-1, 0, 1e9}}), std::logic_error);
  CHECK_THROWS_AS(CapacitySchedule({{NAN, 0, 1e9}}), std::logic_error);
  CHECK_THROWS_AS(CapacitySchedule({{0, 0, 0}}), std::logic_error);
  CHECK_THROWS_AS(CapacitySchedule({{0, 0, INFINITY}}), std::logic_error);
  for (const std::string& name : engine_names()) {
    CHECK_THROWS_AS(run_with_changes(name, on_one_link(1), {{0.5, 2, 1e9}}), std::logic_error);
    CHECK_THROWS_AS(run_with_changes(name, on_one_link(1), {{0.5, -1, 1e9}}), std::logic_error);
    // Changes later in the run are also checked, and the engine stays usable.
    const auto engine = make_engine(name);
    engine->load(on_one_link(1));
    CapacitySchedule late({{0.25, 0, 2e9}, {0.5, 9, 1e9}});
    CHECK_THROWS_AS(engine->run(nullptr, &late), std::logic_error);
    CHECK(std::abs(engine->run().makespan_s - 1) < 1e-15);
  }
}

TEST_CASE("a stalled graph is detected although capacities change forever",
          "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    TransferGraph graph;
    graph.set_link_capacities({1e9});
    graph.add_unsatisfiable_dependency(graph.add_flow(add_route(graph, {0}), 1, 0));
    graph.add_flow(add_route(graph, {0}), 1e9, 0);
    const auto engine = make_engine(name);
    engine->load(finished(std::move(graph)));
    Alternating process(0.01);
    CHECK_THROWS_AS(engine->run(nullptr, &process), GraphStalled);
  }
}

TEST_CASE("a flow shares its link with a background that never ends", "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    TransferGraph background;
    background.set_link_capacities({1e9, 4e9});
    // The background flow restarts at once, which leaves half of the link.
    const std::int32_t route = add_route(background, {0});
    background.add_flow(route, 1e6, 0, kNoRateCap, TransferGraph::kForever);
    background.finish();
    const auto job = on_one_link(1);
    const auto both = std::make_shared<const TransferGraph>(job->with_background(background));
    CHECK(both->firings() == 1);
    CHECK(both->flow_firings() == 1);
    CHECK(both->size() == 2);
    CHECK(both->first_background() == 1);
    const auto engine = make_engine(name);
    engine->load(both);
    FiringLog log;
    const Times times = copy_of(engine->run(&log));
    CHECK(std::abs(times.makespan_s - 2) < 1e-9);
    REQUIRE(log.firings.size() == 1);
    CHECK(log.firings[0].node == 0);
    CHECK(copy_of(engine->run()) == times);
  }
}

TEST_CASE("a background that starts late, and ends", "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    CAPTURE(name);
    TransferGraph background;
    background.set_link_capacities({1e9, 4e9});
    const TransferId flow = background.add_flow(add_route(background, {0}), 0.1e9, 0, 0.5e9, 2);
    background.add_edge(background.add_delay(0.2), flow, TransferGraph::kFirstOnly);
    background.finish();
    const auto both =
        std::make_shared<const TransferGraph>(on_one_link(1)->with_background(background));
    // The background takes half of the link from 0.2 s to 0.6 s.
    CHECK(test::run_once(name, both).makespan_s == Approx(1.2).epsilon(1e-12));
  }
}

TEST_CASE("a stalled graph is detected although its background continues",
          "[sim][engine-capacity]") {
  for (const std::string& name : engine_names()) {
    TransferGraph graph;
    graph.set_link_capacities({1e9});
    graph.add_flow(add_route(graph, {0}), 1e6, 0);
    graph.add_unsatisfiable_dependency(graph.add_flow(add_route(graph, {0}), 1, 0));
    graph.finish();
    TransferGraph background;
    background.set_link_capacities({1e9});
    background.add_flow(add_route(background, {0}), 1e6, 0, kNoRateCap, TransferGraph::kForever);
    background.finish();
    const auto engine = make_engine(name);
    engine->load(std::make_shared<const TransferGraph>(graph.with_background(background)));
    try {
      engine->run();
      FAIL("it did not stall");
    } catch (const GraphStalled& stalled) {
      CHECK(stalled.waiting() == std::vector<TransferId>{1});
    }
  }
}

TEST_CASE("misuse of a background is a logic error", "[sim][engine-capacity]") {
  const auto job = on_one_link(1);
  const auto background = [](auto&& add) {
    TransferGraph graph;
    graph.set_link_capacities({1e9, 4e9});
    add(graph);
    graph.finish();
    return graph;
  };
  const auto refused = [&](auto&& add) {
    CHECK_THROWS_AS(job->with_background(background(add)), std::logic_error);
  };
  refused([](TransferGraph& g) { g.add_delay(0, TransferGraph::kForever); });
  refused([](TransferGraph& g) { g.add_delay(1, TransferGraph::kForever, true); });
  refused([](TransferGraph& g) {
    g.add_flow(g.add_route({}), 1, 0, kNoRateCap, TransferGraph::kForever);
  });
  refused([](TransferGraph& g) { g.set_link_capacities({1e9}); });
  const TransferGraph delay =
      background([](TransferGraph& g) { g.add_delay(1, TransferGraph::kForever); });
  CHECK_THROWS_AS(job->with_background(delay).with_background(delay), std::logic_error);
  // Only a background may run forever.
  for (const std::string& name : engine_names()) {
    CHECK_THROWS_AS(make_engine(name)->load(std::make_shared<const TransferGraph>(delay)),
                    std::logic_error);
  }
  const TransferGraph nothing = background([](TransferGraph&) {});
  CHECK_FALSE(job->with_background(nothing).has_background());
}
