// Cases that are small enough to be solved by hand, in every engine.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using cclgym::test::add_route;
using cclgym::test::engine_names;
using cclgym::test::FiringLog;
using cclgym::test::run_once;
using cclgym::test::Times;

namespace {

constexpr double kExact = 1e-12;

bool near(double found, double expected) {
  return std::abs(found - expected) <= kExact * std::abs(expected);
}

/// A graph under construction on links of the given capacities.
struct Builder {
  explicit Builder(std::vector<double> capacities) {
    graph->set_link_capacities(std::move(capacities));
  }
  TransferId flow(std::initializer_list<std::int32_t> links, double bytes, double latency_s = 0,
                  double cap = kNoRateCap, std::int32_t repeat = 1) {
    return graph->add_flow(add_route(*graph, links), bytes, latency_s, cap, repeat);
  }
  std::shared_ptr<const TransferGraph> done() {
    graph->finish();
    return graph;
  }
  std::shared_ptr<TransferGraph> graph = std::make_shared<TransferGraph>();
};

void check_ends(const Builder& builder, const std::vector<double>& expected_s) {
  builder.graph->finish();
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    const Times times = run_once(name, builder.graph);
    REQUIRE(times.end_s.size() == expected_s.size());
    for (std::size_t node = 0; node < expected_s.size(); ++node) {
      INFO("node " << node << " ended at " << times.end_s[node] << " instead of "
                   << expected_s[node]);
      CHECK(near(times.end_s[node], expected_s[node]));
    }
  }
}

}  // namespace

TEST_CASE("one flow takes latency + bytes / bandwidth", "[sim][engine-sharing]") {
  const double bandwidth = 25e9;
  for (const double latency_s : {0.0, 1e-9, 0.7e-6, 3e-3}) {
    for (double bytes = 1.0 / 64; bytes < 2e10; bytes *= 7.3) {
      Builder builder({bandwidth, 4 * bandwidth});
      builder.flow({0, 1}, bytes, latency_s);
      check_ends(builder, {latency_s + bytes / bandwidth});
    }
  }
}

TEST_CASE("two flows share a link", "[sim][engine-sharing]") {
  Builder builder({1e9});
  builder.flow({0}, 1e6);
  builder.flow({0}, 3e6);
  // Each flow has half of the link until 2 ms; then the longer flow has all of it.
  check_ends(builder, {2e-3, 4e-3});
}

TEST_CASE("three flows on two links: the classic max-min case", "[sim][engine-sharing]") {
  // A crosses both links, B the first (10), C the second (4): A and C get 2, B gets 8.
  Builder builder({10e9, 4e9});
  builder.flow({0, 1}, 2e6);
  builder.flow({0}, 8e6);
  builder.flow({1}, 4e6);
  // All flows move for 1 ms; then A and B are done, and C has 2e6 left at 4e9.
  check_ends(builder, {1e-3, 1e-3, 1.5e-3});
}

TEST_CASE("a cap leaves the rest of the capacity to other flows", "[sim][engine-sharing]") {
  Builder builder({10e9});
  builder.flow({0}, 1e6, 0, 1e9);
  builder.flow({0}, 9e6);
  check_ends(builder, {1e-3, 1e-3});
}

TEST_CASE("caps below, at and above the share", "[sim][engine-sharing]") {
  // Capacity 12 and caps 1, 4, 100 and none: the first flow gets 1, each of the others 11/3.
  Builder builder({12e9});
  builder.flow({0}, 1e6, 0, 1e9);
  builder.flow({0}, 11e6 / 3, 0, 4e9);
  builder.flow({0}, 11e6 / 3, 0, 100e9);
  builder.flow({0}, 11e6 / 3, 0);
  check_ends(builder, {1e-3, 1e-3, 1e-3, 1e-3});
}

TEST_CASE("a cap alone, and caps that add up to less than the link", "[sim][engine-sharing]") {
  Builder builder({10e9});
  builder.flow({0}, 1e6, 1e-6, 1e9);
  builder.flow({0}, 3e6, 0, 3e9);
  check_ends(builder, {1e-6 + 1e-3, 1e-3});
}

TEST_CASE("a flow holds no capacity before its latency has passed", "[sim][engine-sharing]") {
  Builder builder({1e9});
  builder.flow({0}, 2e6);
  builder.flow({0}, 2e6, 1e-3);
  // The first flow has 1e6 left when the second begins. Both have half of the link for 2 ms, then
  // the second has all of it.
  check_ends(builder, {3e-3, 4e-3});
}

TEST_CASE("latency does not affect the share", "[sim][engine-sharing]") {
  Builder builder({1e9});
  const TransferId gate = builder.graph->add_delay(5e-6);
  builder.graph->add_edge(gate, builder.flow({0}, 1e6, 1e-6));
  const TransferId other = builder.graph->add_delay(3e-6);
  builder.graph->add_edge(other, builder.flow({0}, 1e6, 3e-6));
  // Both flows begin to move at 6 us.
  check_ends(builder, {5e-6, 6e-6 + 2e-3, 3e-6, 6e-6 + 2e-3});
}

TEST_CASE("a link that stops being a bottleneck frees flows limited elsewhere",
          "[sim][engine-sharing]") {
  // The links have 6 and 8 GB/s. A crosses both, B and C the first; D is short and crosses the
  // second.
  Builder builder({6e9, 8e9});
  builder.flow({0, 1}, 8e6);  // A
  builder.flow({0}, 2e6);     // B
  builder.flow({0}, 8e6);     // C
  builder.flow({1}, 6e6);     // D
  // At first A = B = C = 2 and D = 6. At 1 ms B and D are done; A and C have 6e6 left and get 3
  // each, for 2 ms.
  check_ends(builder, {3e-3, 1e-3, 3e-3, 1e-3});
}

TEST_CASE("ties: flows that end and begin at the same date", "[sim][engine-sharing]") {
  Builder builder({1e9, 1e9});
  const TransferId a = builder.flow({0}, 1e6);
  const TransferId b = builder.flow({1}, 1e6);
  const TransferId c = builder.flow({0, 1}, 1e6);
  const TransferId d = builder.flow({0}, 2e6);
  // On link 0, a, c and d get a third each; on link 1, b gets 2/3.
  const TransferId e = builder.flow({1}, 1e6);
  builder.graph->add_edge(a, e);
  builder.graph->add_edge(c, e);
  (void)b;
  (void)d;
  // On link 0, a, c and d have 1/3 each until 3 ms; b is done at 1.5 ms. Then d has 1e6 left for
  // itself and ends at 4 ms, and so does e.
  check_ends(builder, {3e-3, 1.5e-3, 3e-3, 4e-3, 4e-3});
}

TEST_CASE("flows of zero bytes take their latency and no capacity", "[sim][engine-sharing]") {
  Builder builder({1e9});
  const TransferId first = builder.flow({0}, 0, 2e-6);
  const TransferId second = builder.flow({0}, 0);
  const TransferId third = builder.flow({0}, 1e3, 1e-6);
  builder.flow({0}, 1e3);
  builder.graph->add_edge(first, second);
  builder.graph->add_edge(second, third);
  check_ends(builder, {2e-6, 2e-6, 4e-6, 1e-6});
}

TEST_CASE("delays form chains, also those of zero length", "[sim][engine-sharing]") {
  Builder builder({1e9});
  const TransferId a = builder.graph->add_delay(1e-6);
  const TransferId b = builder.graph->add_delay(0);
  const TransferId c = builder.graph->add_delay(2e-6);
  const TransferId join = builder.graph->add_delay(0);
  builder.graph->add_edge(a, b);
  builder.graph->add_edge(b, c);
  builder.graph->add_edge(c, join);
  builder.graph->add_edge(a, join);
  check_ends(builder, {1e-6, 1e-6, 3e-6, 3e-6});
}

TEST_CASE("a flow on an empty route is limited only by its cap", "[sim][engine-sharing]") {
  Builder builder({1e9});
  const TransferId a = builder.flow({}, 1e6, 1e-6, 1e9);
  const TransferId b = builder.flow({}, 1e6, 1e-6);
  const TransferId c = builder.flow({}, 0, 0, 1e9);
  builder.graph->add_edge(a, c);
  (void)b;
  check_ends(builder, {1e-6 + 1e-3, 1e-6, 1e-6 + 1e-3});
}

TEST_CASE("an empty graph ends at once", "[sim][engine-sharing]") {
  const auto graph = std::make_shared<TransferGraph>();
  graph->finish();
  for (const std::string& name : engine_names()) {
    CHECK(run_once(name, graph).makespan_s == 0);
  }
}

TEST_CASE("a very long chain of instant firings", "[sim][engine-sharing]") {
  Builder builder({1e9});
  const std::int32_t length = 100000;
  for (std::int32_t i = 0; i < length; ++i) {
    builder.graph->add_delay(0);
  }
  for (std::int32_t i = 0; i + 1 < length; ++i) {
    builder.graph->add_edge(i, i + 1);
  }
  const auto graph = builder.done();
  for (const std::string& name : engine_names()) {
    const auto engine = make_engine(name);
    engine->load(graph);
    FiringLog log;
    CHECK(engine->run(&log).makespan_s == 0);
    REQUIRE(log.firings.size() == static_cast<std::size_t>(length));
    CHECK(log.firings.back().node == length - 1);
  }
}

TEST_CASE("no flow is lost at large dates", "[sim][engine-sharing]") {
  // For these dates `event + (end - event)` is above `end`: a clock that adds differences, like
  // SimGrid's, passes the end of the flow without handling it.
  struct Dates {
    double event_s;
    double end_s;
  };
  const double capacity = 1024.0 * 1024.0 * 1024.0;  // a power of two: end_s * capacity is exact
  for (const Dates& dates :
       {Dates{2.5050498774054937, 50.48606275565012}, Dates{2.7636589053852045, 30.513406297216445},
        Dates{2.3326769106009007, 22.413503837600313}}) {
    REQUIRE(dates.event_s + (dates.end_s - dates.event_s) > dates.end_s);
    Builder builder({capacity, capacity});
    builder.flow({0}, dates.end_s * capacity);
    const TransferId event = builder.graph->add_delay(dates.event_s);
    const TransferId next = builder.flow({1}, 3 * dates.end_s * capacity);
    builder.graph->add_edge(event, next);
    check_ends(builder, {dates.end_s, dates.event_s, dates.event_s + 3 * dates.end_s});
  }
}

TEST_CASE("a repeated node fires strictly in order, and reports each firing",
          "[sim][engine-sharing]") {
  Builder builder({1e9});
  const TransferId producer = builder.flow({0}, 1e6, 0, kNoRateCap, 3);
  const TransferId consumer = builder.graph->add_delay(3e-3, 3);
  builder.graph->add_edge(producer, consumer);
  // The producer is at most two firings ahead: its firing i waits for firing i - 2 of the consumer.
  builder.graph->add_edge(consumer, producer, 2);
  const auto graph = builder.done();
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    const auto engine = make_engine(name);
    engine->load(graph);
    FiringLog log;
    const EngineResult result = engine->run(&log);
    CHECK(near(result.makespan_s, 10e-3));
    REQUIRE(log.firings.size() == 6);
    const std::vector<std::vector<double>> expected = {{0, 0, 0, 1e-3},    {0, 1, 1e-3, 2e-3},
                                                       {1, 0, 1e-3, 4e-3}, {0, 2, 4e-3, 5e-3},
                                                       {1, 1, 4e-3, 7e-3}, {1, 2, 7e-3, 10e-3}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(log.firings[i].node == static_cast<TransferId>(expected[i][0]));
      CHECK(log.firings[i].iteration == static_cast<std::int32_t>(expected[i][1]));
      CHECK(near(log.firings[i].start_s, expected[i][2]));
      CHECK(near(log.firings[i].end_s, expected[i][3]));
    }
    CHECK(near(result.start_s[1], 7e-3));
    CHECK(near(result.end_s[0], 5e-3));
  }
}

TEST_CASE("two edges of different lag between the same nodes", "[sim][engine-sharing]") {
  for (const bool short_first : {true, false}) {
    Builder builder({1e9});
    const TransferId a = builder.graph->add_delay(1e-3, 4);
    const TransferId b = builder.graph->add_delay(1e-3, 4);
    builder.graph->add_edge(a, b, short_first ? 0 : 1);
    builder.graph->add_edge(a, b, short_first ? 1 : 0);
    builder.graph->add_edge(b, b, 1);
    check_ends(builder, {4e-3, 5e-3});
  }
}

TEST_CASE("engines are found by name, and the nearest name is suggested", "[sim][engine-sharing]") {
  REQUIRE_FALSE(engine_infos().empty());
  for (const EngineInfo& info : engine_infos()) {
    CHECK(make_engine(info.name)->name() == info.name);
    CHECK(info.thread_safe == (info.name == "flow"));
  }
  try {
    (void)make_engine("flwo");
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("did you mean 'flow'") != std::string::npos);
  }
}

TEST_CASE("an engine refuses to run without a graph", "[sim][engine-sharing]") {
  for (const std::string& name : engine_names()) {
    const auto engine = make_engine(name);
    CHECK_THROWS_AS(engine->run(), std::logic_error);
    CHECK_THROWS_AS(engine->load(nullptr), std::logic_error);
    CHECK_THROWS_AS(engine->load(std::make_shared<TransferGraph>()), std::logic_error);
  }
}
