// Runs by dependencies alone against runs by events, and the graphs that are allowed to have them.
#include "sim/engine/fixed_rates.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/engine/engine_random_graphs.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

/// Every firing, whatever their order.
class Firings final : public FiringObserver {
 public:
  explicit Firings(bool ordered) : ordered_(ordered) {}
  [[nodiscard]] bool needs_order() const override { return ordered_; }
  void on_firing(TransferId node, std::int32_t iteration, double start_s, double end_s) override {
    all_.emplace_back(node, iteration, start_s, end_s);
  }
  using Firing = std::tuple<TransferId, std::int32_t, double, double>;
  [[nodiscard]] std::vector<Firing> sorted() const {
    std::vector<Firing> copy = all_;
    std::ranges::sort(copy);
    return copy;
  }

 private:
  bool ordered_;
  std::vector<Firing> all_;
};

}  // namespace

TEST_CASE("runs by dependencies and by events have the same dates, bit for bit",
          "[sim][fixed-rates]") {
  int fixed = 0;
  int after_last = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const auto graph = random_roomy_graph(seed);
    FixedRates rates;
    if (!rates.load(*graph)) continue;
    ++fixed;
    for (TransferId id = 0; id < graph->size(); ++id) {
      for (const TransferGraph::Edge& edge : graph->successors(id)) {
        after_last += edge.lag == TransferGraph::kAfterLast && graph->repeat(id) > 1 ? 1 : 0;
      }
    }
    INFO("graph of seed " << seed);
    const auto engine = make_engine("flow");
    engine->load(graph);
    Firings by_events(true);
    const Times reference = copy_of(engine->run(&by_events));
    Firings by_dependencies(false);
    REQUIRE(copy_of(engine->run(&by_dependencies)) == reference);
    REQUIRE(by_dependencies.sorted() == by_events.sorted());
    REQUIRE(copy_of(engine->run()) == reference);  // a second run starts afresh
  }
  CHECK(fixed > 1500);
  CHECK(after_last > 1000);
}

TEST_CASE("graphs that compete for links are run by events", "[sim][fixed-rates]") {
  const auto fits = [](TransferGraph graph) {
    FixedRates rates;
    return rates.load(*finished(std::move(graph)));
  };
  const auto two_flows = [](double capacity_Bps, bool chained, std::int32_t repeat = 1) {
    TransferGraph graph;
    graph.set_link_capacities({capacity_Bps});
    const std::int32_t route = add_route(graph, {0});
    const TransferId one = graph.add_flow(route, 100, 0, 60, repeat);
    const TransferId other = graph.add_flow(route, 100, 0, 50, repeat);
    if (chained) graph.add_edge(one, other);
    return graph;
  };
  CHECK(fits(two_flows(110, false)));
  CHECK_FALSE(fits(two_flows(109, false)));
  CHECK(fits(two_flows(60, true)));           // the second begins when the first is done
  CHECK(fits(two_flows(55, true)));           // the link bounds the first, as it would alone
  CHECK_FALSE(fits(two_flows(60, true, 2)));  // its second firing may overlap the other flow
  CHECK(fits(two_flows(110, true, 2)));

  SECTION("a flow that stands for several") {
    TransferGraph graph;
    graph.set_link_capacities({100});
    const std::vector<std::int32_t> links{0};
    const std::vector<std::int32_t> loads{4};
    (void)graph.add_flow(graph.add_loaded_route(links, loads), 100, 1, 60);
    const auto done = finished(std::move(graph));
    FixedRates rates;
    REQUIRE(rates.load(*done));
    std::vector<double> start_s(1);
    std::vector<double> end_s(1);
    CHECK(rates.run(start_s, end_s, nullptr) == 5);  // 1 s, and 100 B at a quarter of 100 B/s
  }
  SECTION("a node that waits for what never happens") {
    TransferGraph graph;
    graph.set_link_capacities({100});
    const TransferId node = graph.add_delay(1);
    graph.add_unsatisfiable_dependency(node);
    const bool can_run = fits(std::move(graph));
    CHECK_FALSE(can_run);
  }
  SECTION("a cycle") {
    TransferGraph graph;
    graph.set_link_capacities({100});
    const TransferId one = graph.add_delay(1);
    const TransferId other = graph.add_delay(1);
    graph.add_edge(one, other);
    graph.add_edge(other, one);
    const bool can_run = fits(std::move(graph));
    CHECK_FALSE(can_run);
  }
}

TEST_CASE("without competition a ring takes its closed form", "[sim][fixed-rates]") {
  // P ranks, 2 (P - 1) steps of alpha + bytes / rate; the slowest link delays all by the end.
  constexpr std::int32_t kRanks = 16;
  constexpr std::int32_t kSteps = 2 * (kRanks - 1);
  TransferGraph graph;
  graph.set_link_capacities(std::vector<double>(kRanks, 100));
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    (void)graph.add_flow(add_route(graph, {rank}), 50, 0.25, kNoRateCap, kSteps);
  }
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    graph.add_edge(rank, (rank + 1) % kRanks, 1);
  }
  const auto done = finished(std::move(graph));
  FixedRates rates;
  REQUIRE(rates.load(*done));
  std::vector<double> start_s(kRanks);
  std::vector<double> end_s(kRanks);
  CHECK(rates.run(start_s, end_s, nullptr) == kSteps * 0.75);
}
