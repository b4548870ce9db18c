// Checks that the engines agree on the start and end of every graph node, for every shipped program
// on every shipped fabric.
#include <algorithm>
#include <cmath>

#include "collectives/library/logical_rings.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

struct Dates {
  std::vector<double> start_s;
  std::vector<double> end_s;
};

Dates run(Engine& engine, const std::shared_ptr<const TransferGraph>& graph) {
  engine.load(graph);
  const EngineResult result = engine.run();
  return {{result.start_s.begin(), result.start_s.end()},
          {result.end_s.begin(), result.end_s.end()}};
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = std::max({std::abs(a[i]), std::abs(b[i]), 1e-300});
    worst = std::max(worst, std::abs(a[i] - b[i]) / scale);
  }
  return worst;
}

// Start and end of every firing, node by node.
struct FiringDates final : FiringObserver {
  FiringDates(const TransferGraph& graph, std::int32_t most_firings)
      : row(static_cast<std::size_t>(most_firings)),
        start_s(static_cast<std::size_t>(graph.size()) * row),
        end_s(start_s.size()) {}
  void on_firing(TransferId node, std::int32_t tile, double start, double end) override {
    const std::size_t at = static_cast<std::size_t>(node) * row + static_cast<std::size_t>(tile);
    start_s[at] = start;
    end_s[at] = end;
  }
  std::size_t row;
  std::vector<double> start_s;
  std::vector<double> end_s;
};

}  // namespace

TEST_CASE("engines agree on every program, fabric, protocol and size",
          "[sim][engines-agree][thorough]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& name : engine_names()) engines.push_back(make_engine(name));
  int compared = 0;
  Sample sample(3);
  double worst = 0;
  const std::vector<std::shared_ptr<const Fabric>> fabrics{
      fabric("dgx1"), fabric("ndv4"), fabric("ring", 5), fabric("fully_connected", 8)};
  for (const auto& f : fabrics) {
    const CostModel model = shipped_cost_model(f->gpu_model() == "V100" ? "v100" : "a100");
    for (const Combination& combination : combinations(f->ranks())) {
      for (const int channels : {1, 3}) {
        AlgorithmRequest request;
        request.collective = combination.collective;
        request.ranks = f->ranks();
        request.channels = channels;
        request.rings = logical_rings(*f);
        const auto program = build_algorithm(combination.algorithm, request);
        for (const Protocol protocol : all_protocols()) {
          for (const std::uint64_t bytes : {64ULL, 4096ULL, 1ULL << 18, 10000000ULL, 1ULL << 32}) {
            if (sample.skips()) continue;
            const auto lowered = lower(program, *f, model, call_of(combination.collective, bytes),
                                       config_of(combination.algorithm, channels, protocol));
            const Dates reference = run(*engines[0], lowered.graph);
            for (std::size_t i = 1; i < engines.size(); ++i) {
              const Dates dates = run(*engines[i], lowered.graph);
              const double difference = std::max(worst_difference(reference.start_s, dates.start_s),
                                                 worst_difference(reference.end_s, dates.end_s));
              worst = std::max(worst, difference);
              if (difference > 1e-9) {
                CAPTURE(f->name(), combination.algorithm, to_string(combination.collective),
                        channels, to_string(protocol), bytes);
                CHECK(difference <= 1e-9);
              }
              ++compared;
            }
          }
        }
      }
    }
  }
  INFO("worst relative difference " << worst << " over " << compared << " runs");
  CHECK(worst <= 1e-9);
  CHECK(compared >= sample.scaled(1000));
}

TEST_CASE("engines agree on every tile of tiled graphs", "[sim][engines-agree][thorough]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& name : engine_names()) engines.push_back(make_engine(name));
  int compared = 0;
  Sample sample(3);
  for (const auto& f : {fabric("dgx1"), fabric("ndv4"), fabric("ring", 5)}) {
    const CostModel model = shipped_cost_model(f->gpu_model() == "V100" ? "v100" : "a100");
    for (const Combination& combination : combinations(f->ranks())) {
      AlgorithmRequest request;
      request.collective = combination.collective;
      request.ranks = f->ranks();
      request.channels = 2;
      request.rings = logical_rings(*f);
      const auto program = build_algorithm(combination.algorithm, request);
      for (const Protocol protocol : {Protocol::LL, Protocol::Simple}) {
        for (const int slots : {0, 1, 3}) {
          if (sample.skips()) continue;
          Config config = config_of(combination.algorithm, 2, protocol);
          config.tile_bytes = 65536U * static_cast<unsigned>(longest_message(*program));
          config.slots = slots;
          const std::uint64_t chunks =
              static_cast<std::uint64_t>(program->contract.chunks_per_call());
          const auto lowered = lower(program, *f, model,
                                     call_of(combination.collective, chunks * 65000 * 7), config);
          REQUIRE(lowered.tiles == 7);
          std::vector<FiringDates> logs;
          for (const auto& engine : engines) {
            logs.emplace_back(*lowered.graph, lowered.tiles);
            engine->load(lowered.graph);
            (void)engine->run(&logs.back());
          }
          const double difference = std::max(worst_difference(logs[0].start_s, logs[1].start_s),
                                             worst_difference(logs[0].end_s, logs[1].end_s));
          CAPTURE(f->name(), combination.algorithm, to_string(combination.collective),
                  to_string(protocol), slots);
          CHECK(difference <= 1e-9);
          ++compared;
        }
      }
    }
  }
  CHECK(compared >= sample.scaled(250));
}
