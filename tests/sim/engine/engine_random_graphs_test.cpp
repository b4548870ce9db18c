// Compares engine flow with the reference, firing by firing, on random transfer graphs.
//
// Tolerance: 1e-9 of the date itself, without an absolute floor. Dates are sums of terms that are
// each exact to a few units in the last place; a slightly wrong rate only shifts bytes between
// flows for a moment, which a ratio of capacities of at most 1e4 magnifies to about 1e-12.
#include "sim/engine/engine_random_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr int kGraphs = 2500;
constexpr double kTolerance = 1e-9;

double difference(double a, double b) {
  return a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

void sort_by_firing(std::vector<FiringLog::Firing>& firings) {
  std::sort(firings.begin(), firings.end(), [](const auto& a, const auto& b) {
    return a.node != b.node ? a.node < b.node : a.iteration < b.iteration;
  });
}

/// Runs graphs of seeds 1 to `graphs` on both engines and compares every firing.
struct Comparison {
  double worst = 0;
  std::int64_t firings = 0;
  int folded = 0;
  std::int64_t detours = 0;  ///< firings that did not take their first route
  std::int64_t changes = 0;  ///< capacity changes before the end of the run
};

class ChoiceLog final : public FiringLog {
 public:
  void on_choice(TransferId node, std::int32_t iteration, std::int32_t way) override {
    choices.emplace_back(node, iteration, way);
    detours += way > 0 ? 1 : 0;
  }
  std::vector<std::tuple<TransferId, std::int32_t, std::int32_t>> choices;
  std::int64_t detours = 0;
};

Comparison compare_engines(std::uint64_t graphs, Extras extras) {
  const auto flow = make_engine("flow");
  const auto simgrid = make_engine("simgrid");
  Comparison result;
  for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
    const RandomGraph random(seed, extras);
    const auto graph = random.graph();
    result.folded += graph->folded() ? 1 : 0;
    CapacitySchedule schedule(random.changes());
    CapacitySchedule* const changes = extras.changes ? &schedule : nullptr;
    ChoiceLog of_flow;
    ChoiceLog of_simgrid;
    flow->load(graph);
    const double makespan_s = flow->run(&of_flow, changes).makespan_s;
    simgrid->load(graph);
    const double reference_s = simgrid->run(&of_simgrid, changes).makespan_s;
    const auto count = static_cast<std::size_t>(graph->firings());
    INFO("graph of seed " << seed);
    REQUIRE(of_flow.firings.size() == count);
    REQUIRE(of_simgrid.firings.size() == count);
    REQUIRE(std::is_sorted(of_flow.firings.begin(), of_flow.firings.end(),
                           [](const auto& a, const auto& b) { return a.end_s < b.end_s; }));
    sort_by_firing(of_flow.firings);
    sort_by_firing(of_simgrid.firings);
    // The inner loop uses plain comparisons, because a Catch2 assertion costs more than a simulated
    // flow.
    double of_graph = difference(makespan_s, reference_s);
    bool same_firings = true;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& a = of_flow.firings[i];
      const auto& b = of_simgrid.firings[i];
      same_firings = same_firings && a.node == b.node && a.iteration == b.iteration;
      of_graph =
          std::max({of_graph, difference(a.start_s, b.start_s), difference(a.end_s, b.end_s)});
    }
    REQUIRE(same_firings);
    std::sort(of_flow.choices.begin(), of_flow.choices.end());
    std::sort(of_simgrid.choices.begin(), of_simgrid.choices.end());
    INFO("worst relative difference " << of_graph);
    REQUIRE(of_flow.choices == of_simgrid.choices);
    REQUIRE(of_graph <= kTolerance);
    result.worst = std::max(result.worst, of_graph);
    result.firings += graph->firings();
    result.detours += of_flow.detours;
    result.changes += std::count_if(random.changes().begin(), random.changes().end(),
                                    [&](const auto& c) { return c.time_s < makespan_s; });
  }
  return result;
}

}  // namespace

TEST_CASE("flow and simgrid agree on every firing of random graphs",
          "[sim][engine-random-graphs]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  const Comparison result = compare_engines(kGraphs, {});
  INFO("worst relative difference " << result.worst << " over " << result.firings << " firings");
  CHECK(result.worst <= kTolerance);
  CHECK(result.folded > kGraphs / 10);
  CHECK(result.firings > 10 * kGraphs);
}

TEST_CASE("engines agree on random graphs with alternative routes", "[sim][engine-random-graphs]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  const Comparison result = compare_engines(1000, {.alternatives = true});
  CHECK(result.folded > 100);
  CHECK(result.detours > 1000);
}

TEST_CASE("engines agree on random graphs whose capacities change", "[sim][engine-random-graphs]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  CHECK(compare_engines(1000, {.changes = true}).changes > 1000);
}

TEST_CASE("engines agree on random graphs with a background", "[sim][engine-random-graphs]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  CHECK(compare_engines(1000, {.background = true}).folded > 500);
}

TEST_CASE("engines agree on random graphs with all of these", "[sim][engine-random-graphs]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  const Comparison result =
      compare_engines(1000, {.alternatives = true, .changes = true, .background = true});
  CHECK(result.detours > 1000);
  CHECK(result.changes > 1000);
}
