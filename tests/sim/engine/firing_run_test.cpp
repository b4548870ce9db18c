// Tests of runs firing by firing: the dates have the same bits as those of engine flow on a graph
// in which every firing is a node.
#include "sim/engine/firing_run.hpp"

#include <algorithm>
#include <bit>

#include "core/random.hpp"
#include "engine_random_graphs.hpp"
#include "sim/noise/noise.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Latencies that depend on the firing at about half of the nodes; few distinct values if `ties`.
class RandomLatencies final : public FiringLatencies {
 public:
  RandomLatencies(std::uint64_t seed, bool ties) : seed_(seed), ties_(ties) {}
  [[nodiscard]] bool differ(TransferId node) const override {
    return Random::stream(seed_, {static_cast<std::uint64_t>(node)}).uniform() < 0.5;
  }
  [[nodiscard]] double latency_s(const OneFiring& firing, double own_s) const override {
    Random random = Random::stream(seed_, {static_cast<std::uint64_t>(firing.node),
                                           static_cast<std::uint64_t>(firing.number)});
    if (ties_) return own_s + 1e-6 * static_cast<double>(random.integer(0, 3));
    return own_s + random.uniform(0, 2e-3);
  }

 private:
  std::uint64_t seed_;
  bool ties_;
};

// A pipeline of tiles: nodes that fire once or `tiles` times, messages in flight, launches, waits
// for the last tile, and several edges between the same nodes.
class RandomPipeline {
 public:
  explicit RandomPipeline(std::uint64_t seed) : dice_(seed), ties_(dice_.chance(0.5)) {
    std::vector<double> capacities(static_cast<std::size_t>(dice_.between(1, 6)));
    for (double& capacity : capacities) capacity = capacity_Bps();
    const auto links = static_cast<std::int32_t>(capacities.size());
    graph_->set_link_capacities(std::move(capacities));
    const std::int32_t tiles = dice_.between(2, 9);
    const std::int32_t nodes = dice_.between(2, 30);
    for (std::int32_t node = 0; node < nodes; ++node) {
      const std::int32_t repeat = dice_.chance(0.8) ? tiles : 1;
      if (dice_.chance(0.4)) {
        graph_->add_delay(latency_s(), repeat, repeat > 1 && dice_.chance(0.6));
        continue;
      }
      std::vector<std::int32_t> route{dice_.between(0, links - 1)};
      const std::int32_t other = dice_.between(0, links - 1);
      if (other != route.front()) route.push_back(other);
      const double bytes = dice_.chance(0.1) ? 0 : ties_ ? 1e6 : dice_.decades(3, 7);
      graph_->add_flow(graph_->add_route(route), bytes, latency_s(),
                       dice_.chance(0.5) ? capacity_Bps() : kNoRateCap, repeat);
    }
    for (std::int32_t edge = dice_.between(nodes / 2, 3 * nodes); edge > 0; --edge) {
      const TransferId source = dice_.between(0, nodes - 1);
      const TransferId target = dice_.between(0, nodes - 1);
      const std::int32_t kind = dice_.between(0, 9);
      if (kind < 2 && source < target) {
        graph_->add_edge(source, target,
                         kind == 0 ? TransferGraph::kFirstOnly : TransferGraph::kAfterLast);
      }
      const std::int32_t lag = source < target ? dice_.between(0, 3) : dice_.between(1, 4);
      // Without a wait for the last tile, which an edge backwards would turn into a deadlock.
      if (kind >= 2 && graph_->repeat(source) + lag >= graph_->repeat(target)) {
        if (source < target || !waits_for_last_) graph_->add_edge(source, target, lag);
      }
      waits_for_last_ = waits_for_last_ || (kind == 1 && source < target);
    }
    graph_->finish();
    for (std::int32_t left = dice_.between(0, 40); left > 0; --left) {
      const double time_s = ties_ ? dice_.one_of({0, 1e-6, 2e-6, 1e-3}) : dice_.decades(-6, -2);
      changes_.push_back({time_s, dice_.between(0, links - 1), capacity_Bps()});
    }
    std::ranges::stable_sort(changes_, {}, &CapacityChange::time_s);
  }
  [[nodiscard]] const std::shared_ptr<TransferGraph>& graph() const { return graph_; }
  [[nodiscard]] const std::vector<CapacityChange>& changes() const { return changes_; }
  [[nodiscard]] bool ties() const { return ties_; }

 private:
  double capacity_Bps() { return ties_ ? dice_.one_of({1e9, 2e9}) : dice_.decades(8, 10); }
  double latency_s() {
    return dice_.chance(0.3) ? 0 : ties_ ? dice_.one_of({1e-6, 2e-6}) : dice_.decades(-7, -3);
  }

  Dice dice_;
  bool ties_;
  bool waits_for_last_ = false;
  std::shared_ptr<TransferGraph> graph_ = std::make_shared<TransferGraph>();
  std::vector<CapacityChange> changes_;
};

struct Ends {
  double makespan_s = 0;
  std::vector<double> end_s;  // by node: last firing
};

// Engine flow on the unfolded graph; empty if it stalls.
Ends unfolded_ends(const std::shared_ptr<const TransferGraph>& graph,
                   const FiringLatencies& latencies, CapacityProcess& capacities) {
  LoweredProgram folded;
  folded.graph = graph;
  folded.origins.resize(static_cast<std::size_t>(graph->size()));
  folded.costs.record_of.resize(folded.origins.size());
  const std::shared_ptr<const TransferGraph> each = unfolded(folded).graph;
  TransferGraph::Costs costs = costs_of(*each);
  std::vector<std::size_t> last;
  std::size_t number = 0;
  for (TransferId node = 0; node < graph->size(); ++node) {
    for (std::int32_t i = 0; i < graph->repeat(node); ++i, ++number) {
      if (!latencies.differ(node)) continue;
      costs.latency_s[number] = latencies.latency_s({node, i}, costs.latency_s[number]);
    }
    last.push_back(number - 1);
  }
  const auto engine = make_engine("flow");
  engine->load(std::make_shared<const TransferGraph>(each->with_costs(std::move(costs))));
  Ends ends;
  try {
    const EngineResult result = engine->run(nullptr, &capacities);
    ends.makespan_s = result.makespan_s;
    for (const std::size_t id : last) ends.end_s.push_back(result.end_s[id]);
  } catch (const GraphStalled&) {
  }
  return ends;
}

}  // namespace

TEST_CASE("runs firing by firing have the bits of runs of the unfolded graph", "[sim][engine]") {
  FiringRun run;  // used again and again, so that nothing of a run may remain
  int ran = 0;
  int stalled = 0;
  int overtaken = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomPipeline pipeline(seed);
    REQUIRE(FiringRun::possible(*pipeline.graph()));
    const RandomLatencies latencies(seed, pipeline.ties());
    CapacitySchedule capacities(pipeline.changes());
    const Ends expected = unfolded_ends(pipeline.graph(), latencies, capacities);
    CAPTURE(seed);
    if (expected.end_s.empty()) {
      CHECK_THROWS_AS(run.run(pipeline.graph(), latencies, capacities), GraphStalled);
      ++stalled;
      continue;
    }
    const FiringRun::Dates dates = run.run(pipeline.graph(), latencies, capacities);
    REQUIRE(std::bit_cast<std::uint64_t>(dates.makespan_s) ==
            std::bit_cast<std::uint64_t>(expected.makespan_s));
    REQUIRE(std::ranges::equal(dates.end_s, expected.end_s));
    ++ran;
    for (TransferId node = 0; node < pipeline.graph()->size(); ++node) {
      overtaken += pipeline.graph()->overlapping(node) && latencies.differ(node) ? 1 : 0;
    }
  }
  CHECK(ran > 2000);
  CHECK(stalled > 10);
  CHECK(overtaken > 1000);
}

TEST_CASE("runs firing by firing refuse graphs that they cannot follow", "[sim][engine]") {
  TransferGraph many;
  many.set_link_capacities({1e9});
  const TransferId last = many.add_delay(1e-6, 2);
  for (int i = 0; i < 255; ++i) many.add_edge(many.add_delay(1e-6, 2), last);
  many.finish();
  CHECK_FALSE(FiringRun::possible(many));
  TransferGraph uneven;  // a place for each firing of each node would be 16 MB
  uneven.set_link_capacities({1e9});
  (void)uneven.add_delay(1e-6, 1'000'000);
  for (int i = 0; i < 15; ++i) (void)uneven.add_delay(1e-6);
  uneven.finish();
  CHECK_FALSE(FiringRun::possible(uneven));
  const RandomGraph adaptive(3, {.alternatives = true});
  if (adaptive.graph()->adaptive()) CHECK_FALSE(FiringRun::possible(*adaptive.graph()));
}
