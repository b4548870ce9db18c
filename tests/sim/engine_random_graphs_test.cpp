// Engine flow against the reference, firing by firing, on random transfer graphs.
//
// Tolerance: 1e-9 of the date itself, with no absolute floor. Dates are sums of terms that are each
// exact to a few units in the last place; a rate that is a little off for a moment only shifts
// bytes between flows, which a ratio of capacities of at most 1e4 magnifies to about 1e-12.
#include "engine_random_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "engine_testing.hpp"
#include "sim/engine.hpp"

using namespace cclgym;
using namespace cclgym::testing;

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

}  // namespace

TEST_CASE("flow and simgrid agree on every firing of random graphs") {
  if (engine_names().size() < 2) {
    WARN("this build has one engine: nothing to compare");
    return;
  }
  const auto flow = make_engine("flow");
  const auto simgrid = make_engine("simgrid");
  double worst = 0;
  std::int64_t firings = 0;
  int folded = 0;
  for (std::uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const auto graph = RandomGraph(seed).graph();
    folded += graph->folded() ? 1 : 0;
    FiringLog of_flow;
    FiringLog of_simgrid;
    flow->load(graph);
    const double makespan_s = flow->run(&of_flow).makespan_s;
    simgrid->load(graph);
    const double reference_s = simgrid->run(&of_simgrid).makespan_s;
    const auto count = static_cast<std::size_t>(graph->firings());
    REQUIRE(of_flow.firings.size() == count);
    REQUIRE(of_simgrid.firings.size() == count);
    REQUIRE(std::is_sorted(of_flow.firings.begin(), of_flow.firings.end(),
                           [](const auto& a, const auto& b) { return a.end_s < b.end_s; }));
    sort_by_firing(of_flow.firings);
    sort_by_firing(of_simgrid.firings);
    // Plain comparisons in the inner loop: an assertion of Catch2 costs more than a simulated flow.
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
    INFO("graph of seed " << seed << ", worst relative difference " << of_graph);
    REQUIRE(of_graph <= kTolerance);
    worst = std::max(worst, of_graph);
    firings += graph->firings();
  }
  INFO("worst relative difference " << worst << " over " << firings << " firings");
  CHECK(worst <= kTolerance);
  CHECK(folded > kGraphs / 10);
  CHECK(firings > 10 * kGraphs);
}
