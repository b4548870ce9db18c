// Records without dates against records with all dates.
#include "sim/summary_recorder.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/engine/engine_random_graphs.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

bool same_path(const SimulationRecord& a, const SimulationRecord& b) {
  return std::ranges::equal(
      dated_critical_path(a), dated_critical_path(b), [](const auto& x, const auto& y) {
        return x.node == y.node && x.tile == y.tile && x.start_s == y.start_s && x.end_s == y.end_s;
      });
}

bool same_links(const SimulationRecord& a, const SimulationRecord& b) {
  return std::ranges::equal(link_use(a, false), link_use(b, false),
                            [](const LinkUse& x, const LinkUse& y) {
                              return x.busy_s == y.busy_s && x.bytes == y.bytes;
                            });
}

SimulationRecord record_for(const std::shared_ptr<const TransferGraph>& graph) {
  SimulationRecord record;
  record.graph = record.lowered.graph = graph;
  record.lowered.fabric_links = graph->link_capacities_Bps().size();
  return record;
}

}  // namespace

TEST_CASE("a summary has the links and the critical path of the dates, bit for bit",
          "[sim][analysis]") {
  int summaries = 0;
  int dated = 0;
  int failed = 0;
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto graph = random_roomy_graph(seed);
    SimulationRecord full = record_for(graph);
    SimulationRecord record = record_for(graph);
    Recorder recorder(full, false);
    SummaryRecorder summary(record, seed % 2 == 0 ? 0 : 1U << 18U);
    const auto engine = make_engine("flow");
    engine->load(graph);
    try {
      (void)engine->run(&recorder);
    } catch (const GraphStalled&) {
      continue;
    }
    (void)engine->run(&summary);
    INFO("graph of seed " << seed);
    if (!summary.finish()) {
      ++failed;
      REQUIRE_FALSE(record.analysed());
      continue;
    }
    REQUIRE(record.analysed());
    if (record.dated()) {
      ++dated;
      REQUIRE(record.start_s == full.start_s);
      REQUIRE(record.end_s == full.end_s);
    } else {
      ++summaries;
      several += dated_critical_path(record).size() > 10 ? 1 : 0;
    }
    REQUIRE(same_path(record, full));
    REQUIRE(same_links(record, full));
  }
  CHECK(summaries > 400);
  CHECK(several > 100);
  CHECK(dated > 1000);
  CHECK(failed > 400);
}

TEST_CASE("simulations with a summary print what those with dates print", "[sim][analysis]") {
  struct Case {
    std::string on;
    int ranks;
    std::string algorithm;
    int channels;
    bool summary;
  };
  for (const auto& [on, ranks, algorithm, channels, summary] :
       {Case{"ring", 192, "ring", 1, true}, Case{"ndv4", 192, "ring", 1, true},
        Case{"frontier", 192, "ring", 1, true}, Case{"frontier", 192, "hierarchical", 1, true},
        Case{"frontier", 192, "ring", 4, false}, Case{"ring", 8, "ring", 1, false}}) {
    CAPTURE(on, ranks, algorithm);
    FabricSpec spec;
    spec.name = on;
    (on == "ring" ? spec.gpus : spec.servers) = on == "ring" ? ranks : ranks / 8;
    Simulator simulator(make_fabric(spec), shipped_cost_model("a100"), "flow");
    const Call call = call_of(CollectiveKind::AllReduce, 3 << 20);
    const Config config = config_of(algorithm, channels);
    const SimulationRecord full = simulator.record(call, config, 0, 0, RecordDetail::Classes);
    const SimulationRecord record = simulator.record(call, config, 0, 0, RecordDetail::Summary);
    CHECK(record.summary.has_value() == summary);
    CHECK(record.analysed());
    CHECK(same_path(record, full));
    CHECK(same_links(record, full));
    CHECK(record.result.time_s == full.result.time_s);
  }
}
