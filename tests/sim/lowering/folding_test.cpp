// Checks that folded loops give every step the same dates as the program with one graph node per
// step.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "collectives/compiler/compile.hpp"
#include "collectives/library/logical_rings.hpp"
#include "core/random.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/analysis.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

/// Start and end of every step that has a graph node, and of every message's flight.
using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, NodeRole>;
class FoldedDates final : public FiringObserver {
 public:
  explicit FoldedDates(const LoweredProgram& lowered) : lowered_(lowered) {}
  void on_firing(TransferId node, std::int32_t firing, double start_s, double end_s) override {
    const NodeOrigin& origin = lowered_.origins[static_cast<std::size_t>(node)];
    const Key key{origin.rank, origin.thread_block, step_of_firing(lowered_, node, firing),
                  origin.role};
    REQUIRE(of.emplace(key, std::array{start_s, end_s}).second);
  }
  std::map<Key, std::array<double, 2>> of;

 private:
  const LoweredProgram& lowered_;
};

FoldedDates dates_of(Engine& engine, const LoweredProgram& lowered) {
  FoldedDates dates(lowered);
  engine.load(lowered.graph);
  (void)engine.run(&dates);
  return dates;
}

/// Largest relative difference of any date. Folding may add a graph node where a step needs none.
double difference(const FoldedDates& folded, const FoldedDates& unrolled) {
  double worst = 0;
  for (const auto& [key, dates] : unrolled.of) {
    const auto same = folded.of.find(key);
    REQUIRE(same != folded.of.end());
    for (std::size_t i = 0; i < 2; ++i) {
      if (dates[i] != same->second[i]) {
        worst = std::max(worst, std::abs(same->second[i] - dates[i]) / dates[i]);
      }
    }
  }
  return worst;
}

struct Tally {
  int folded = 0;
  int not_folded = 0;
  double worst = 0;
};

void compare(const std::shared_ptr<const ThreadBlockProgram>& program, const Fabric& on,
             const CostModel& model, const Config& config, std::uint64_t bytes,
             std::span<const double> start_delays_s, Tally& tally) {
  const Call call = call_of(program->contract.kind(), bytes);
  const auto outline = std::make_shared<const ProgramOutline>(outline_of(*program));
  const LoweredProgram folded =
      lower(outline, on, model, call, config, start_delays_s, Folding::Always);
  if (!folded.folded) {
    ++tally.not_folded;
    return;
  }
  const LoweredProgram unrolled =
      lower(program, on, model, call, config, start_delays_s, Folding::Never);
  REQUIRE_FALSE(unrolled.folded);
  REQUIRE(folded.steps == unrolled.steps);
  REQUIRE(folded.graph->flow_firings() == unrolled.graph->flow_firings());
  for (const std::string& name : engine_names()) {
    const auto engine = make_engine(name);
    CAPTURE(name);
    const double worst = difference(dates_of(*engine, folded), dates_of(*engine, unrolled));
    REQUIRE(worst <= (name == "flow" ? 1e-12 : 1e-9));
    if (name == "flow") tally.worst = std::max(tally.worst, worst);
  }
  ++tally.folded;
}

AlgorithmRequest request_of(CollectiveKind collective, const Fabric& on, int channels,
                            const std::string& algorithm, const CostModel& model) {
  AlgorithmRequest request;
  request.collective = collective;
  request.ranks = on.ranks();
  request.channels = channels;
  request.rings = logical_rings(on);
  request.ranks_per_server = on.ranks_per_server().value_or(0);
  if (!model.hockney) request.compile = deployed_compile_options(algorithm);
  return request;
}

}  // namespace

TEST_CASE("folded programs of the library have the dates of their unfolded steps",
          "[sim][folding][thorough]") {
  Tally tally;
  Sample sample(10);
  std::map<std::string, int> folded;
  for (const auto& [name, gpus] : std::vector<std::pair<std::string, std::optional<int>>>{
           {"dgx1", std::nullopt}, {"ring", 24}, {"fully_connected", 16}, {"frontier", 4}}) {
    FabricSpec spec;
    spec.name = name;
    (name == "frontier" ? spec.servers : spec.gpus) = gpus;  // frontier has adaptive routes
    const auto on = make_fabric(spec);
    for (const Combination& each : combinations(on->ranks())) {
      for (const std::string model_name : {"hockney", "a100"}) {
        const CostModel model = shipped_cost_model(model_name);
        for (const int channels : {1, 3}) {
          Config config = config_of(each.algorithm, channels, Protocol::LL128);
          config.slots = channels == 3 ? 8 : 0;
          if (folded[each.algorithm] > 0 && sample.skips()) continue;
          CAPTURE(name, each.algorithm, to_string(each.collective), model_name, channels);
          const AlgorithmRequest request =
              request_of(each.collective, *on, channels, each.algorithm, model);
          if (check_request(shipped_algorithm(each.algorithm), request)) continue;
          const int before = tally.folded;
          compare(build_algorithm(each.algorithm, request), *on, model, config, 1 << 22, {}, tally);
          folded[each.algorithm] += tally.folded - before;
        }
      }
    }
  }
  INFO("worst difference " << tally.worst);
  CHECK(folded["ring"] > sample.scaled(40));
  CHECK((thorough() ? folded["hierarchical"] == 4 : folded["hierarchical"] > 0));
  CHECK(tally.folded > sample.scaled(60));
}

TEST_CASE("folded rings with late ranks, few slots and uneven messages", "[sim][folding]") {
  Random random(5);
  Tally tally;
  for (int trial = 0; trial < 60; ++trial) {
    const auto on = fabric(trial % 2 == 0 ? "ring" : "fully_connected",
                           static_cast<int>(random.integer(12, 20)));
    const CostModel model = shipped_cost_model(trial % 3 == 0 ? "hockney" : "a100");
    const std::vector<CollectiveKind> kinds = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                               CollectiveKind::ReduceScatter,
                                               CollectiveKind::Broadcast};
    const int channels = static_cast<int>(random.integer(1, 3));
    const AlgorithmRequest request =
        request_of(kinds[random() % kinds.size()], *on, channels, "ring", model);
    auto program = std::make_shared<ThreadBlockProgram>(
        compile(trace_algorithm("ring", request), request.compile));
    program->traits.runtime = Runtime::Nccl;
    // Some messages are larger, for sender and receiver, which cuts loops at uneven places.
    for (int larger = static_cast<int>(random.integer(0, 3)); larger > 0; --larger) {
      const auto rank = static_cast<std::size_t>(random.integer(0, on->ranks() - 1));
      auto& blocks = program->gpus[rank].thread_blocks;
      auto& block = blocks[random() % blocks.size()];
      if (block.send_peer < 0) continue;
      std::vector<Instruction*> sent;
      std::vector<Instruction*> received;
      for (Instruction& step : block.steps) {
        if (sends(step.opcode)) sent.push_back(&step);
      }
      for (ThreadBlock& other :
           program->gpus[static_cast<std::size_t>(block.send_peer)].thread_blocks) {
        if (other.recv_peer != static_cast<int>(rank) || other.channel != block.channel) continue;
        for (Instruction& step : other.steps) {
          if (receives(step.opcode)) received.push_back(&step);
        }
      }
      const std::size_t message = random() % sent.size();
      // A step that forwards data sends as much as it receives, so choose a step that does not.
      if (receives(sent[message]->opcode) || sends(received[message]->opcode)) continue;
      sent[message]->count = received[message]->count = 3;
    }
    std::vector<double> late_s;
    for (int rank = 0; rank < on->ranks() && trial % 4 != 0; ++rank) {
      late_s.push_back(random.exponential(20e-6));
    }
    Config config = config_of("ring", channels, Protocol::Simple);
    config.slots = std::array{0, 1, 2, 3, 8}[random() % 5];
    // A fused ring with one slot is a deadlock.
    if (config.slots == 1) config.slots = 2;
    CAPTURE(trial, to_string(request.collective), channels, config.slots, late_s.size());
    compare(program, *on, model, config, 3 << 20, late_s, tally);
  }
  INFO("worst difference " << tally.worst << ", not folded " << tally.not_folded);
  CHECK(tally.folded > 40);
}

TEST_CASE("a folded ring is a handful of graph nodes per rank, whatever its length",
          "[sim][folding]") {
  for (const int ranks : {64, 128}) {
    const auto on = fabric("ring", ranks);
    for (const std::string model_name : {"hockney", "a100"}) {
      const CostModel model = shipped_cost_model(model_name);
      const AlgorithmRequest request = request_of(CollectiveKind::AllReduce, *on, 1, "ring", model);
      const auto outline =
          std::make_shared<const ProgramOutline>(*outline_algorithm("ring", request));
      const LoweredProgram folded =
          lower(outline, *on, model, call_of(CollectiveKind::AllReduce, 1 << 20), config_of("ring"),
                {}, Folding::Always);
      CHECK(folded.folded);
      CHECK(folded.graph->size() <= 12 * ranks);
      CHECK(folded.graph->flow_firings() == 2 * ranks * (ranks - 1));
      CHECK(folded.steps == 2 * (ranks - 1));
    }
  }
}

TEST_CASE("analyses of a folded run equal those of the unfolded steps", "[sim][folding]") {
  for (const std::string model_name : {"hockney", "a100"}) {
    const CostModel model = shipped_cost_model(model_name);
    const auto on = fabric("ring", 192);  // enough for the simulator to fold
    Simulator simulator(on, model, "flow");
    const Call call = call_of(CollectiveKind::AllReduce, 3 << 20);
    const SimulationRecord folded = simulator.record(call, config_of("ring"));
    REQUIRE(folded.lowered.folded);
    REQUIRE(folded.lowered.program == nullptr);

    SimulationRecord each;
    each.call = call;
    const AlgorithmRequest request = request_of(CollectiveKind::AllReduce, *on, 1, "ring", model);
    each.lowered = lower(build_algorithm("ring", request), *on, model, call, config_of("ring"), {},
                         Folding::Never);
    each.graph = each.lowered.graph;
    each.result = folded.result;
    const auto engine = make_engine("flow");
    engine->load(each.graph);
    const EngineResult dates = engine->run();
    each.start_s.assign(dates.start_s.begin(), dates.start_s.end());
    each.end_s.assign(dates.end_s.begin(), dates.end_s.end());
    each.first_firing.resize(each.start_s.size() + 1);
    for (std::size_t i = 0; i < each.first_firing.size(); ++i) each.first_firing[i] = i;

    const auto steps = step_times(folded);
    const auto expected = step_times(each);
    REQUIRE(steps.size() == expected.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      REQUIRE(steps[i].step == expected[i].step);
      REQUIRE(steps[i].start_s == Approx(expected[i].start_s).epsilon(1e-12));
      REQUIRE(steps[i].end_s == Approx(expected[i].end_s).epsilon(1e-12));
      REQUIRE((steps[i].sent.flow < 0) == (expected[i].sent.flow < 0));
      REQUIRE((steps[i].received.flow < 0) == (expected[i].received.flow < 0));
    }
    const auto links = link_use(folded);
    const auto expected_links = link_use(each);
    REQUIRE(links.size() == expected_links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      REQUIRE(links[i].bytes == Approx(expected_links[i].bytes).epsilon(1e-12));
      REQUIRE(links[i].busy_s == Approx(expected_links[i].busy_s).epsilon(1e-9));
      REQUIRE(links[i].intervals.size() == expected_links[i].intervals.size());
    }
    const auto path = critical_path(folded);
    CHECK(path.size() == critical_path(each).size());
    CHECK(describe_node(folded.lowered, path.back().node, path.back().tile).find("step ") !=
          std::string::npos);
  }
}
