// Tests of noise on complete simulations: its effect on times, and results that it must not affect.
#include "sim/noise/noise.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/noise/noise_testing.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

Simulator noisy_simulator(std::shared_ptr<const Fabric> fabric, const NoiseProfile& noise,
                          std::string_view engine = "flow", const std::string& model = "a100") {
  Simulator simulator(std::move(fabric), shipped_cost_model(model), engine);
  simulator.set_noise(noise);
  return simulator;
}

Config with_tiles(Config config) {
  config.tile_bytes = 8192;
  config.slots = 4;
  return config;
}

// A profile with every kind of noise.
NoiseProfile everything() {
  NoiseProfile noise = noise_profile_for("cloud-ib");
  noise.name = "everything";
  noise.load[static_cast<std::size_t>(LinkKind::NvLink)] = {
      .scope = LoadScope::Link, .correlation_s = 20e-6, .states = {{1, 0.7}, {0.4, 0.3}}};
  noise.jitter[static_cast<std::size_t>(LinkKind::NvLink)] = {.median_s = 50e-9, .sigma = 1};
  noise.degraded[kNetwork] = {.probability = 0.2, .capacity = 0.7};
  noise.slow_gpus = {.probability = 0.1, .ranks = {1}, .rate = 0.8};
  noise.background = {.jobs = 3, .servers = 2, .bytes = 1 << 20, .pause_s = 100e-6};
  noise.start_skew_s = 2e-6;
  return noise;
}

const Call kAllToAll = call_of(CollectiveKind::AllToAll, 1 << 20);

std::vector<double> ends_of(const SimulationRecord& record) {
  std::vector<double> dates = record.start_s;
  dates.insert(dates.end(), record.end_s.begin(), record.end_s.end());
  return dates;
}

double worst_noise_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = std::max({std::abs(a[i]), std::abs(b[i]), 1e-300});
    worst = std::max(worst, std::abs(a[i] - b[i]) / scale);
  }
  return worst;
}

}  // namespace

TEST_CASE("without noise everything is as before, to the bit", "[sim][noise]") {
  NoiseProfile nothing;  // has noise of every kind, without effect
  nothing.name = "nothing";
  nothing.jitter[kNetwork] = {.median_s = 0, .sigma = 1, .tail_probability = 0.5};
  nothing.degraded[kNetwork] = {.probability = 1, .capacity = 1};
  nothing.slow_gpus = {.probability = 1, .ranks = {}, .rate = 1};
  nothing.background = {.jobs = 0, .bytes = 1000};
  CHECK(nothing.none());
  NoiseProfile still = nothing;  // sets capacities to their own values
  still.load[kNetwork] = {.correlation_s = 1e-6, .states = {{1, 0.5}, {1, 0.5}}};
  CHECK_FALSE(still.none());
  CHECK_FALSE(still.random());
  for (const std::string& engine : engine_names()) {
    for (const bool tiles : {false, true}) {
      const Config config = tiles ? with_tiles(config_of("two-step")) : config_of("two-step");
      CAPTURE(engine, tiles);
      std::vector<double> plain;
      {
        Simulator simulator(ndv4(2), shipped_cost_model("a100"), engine);
        plain = ends_of(simulator.record(kAllToAll, config, 5));
      }
      for (const NoiseProfile& noise : {NoiseProfile(), nothing, still}) {
        CAPTURE(noise.name);
        Simulator simulator = noisy_simulator(ndv4(2), noise, engine);
        CHECK(ends_of(simulator.record(kAllToAll, config, 5)) == plain);
      }
      Simulator simulator = noisy_simulator(ndv4(2), everything(), engine);
      CHECK(ends_of(simulator.record(kAllToAll, config, 5)) != plain);
      simulator.set_noise({});
      CHECK(ends_of(simulator.record(kAllToAll, config, 5)) == plain);
    }
  }
}

TEST_CASE("same seed, same bits; the seed is the machine, the repetition the moment",
          "[sim][noise]") {
  Simulator first = noisy_simulator(ndv4(2), everything());
  Simulator second = noisy_simulator(ndv4(2), everything());
  const Config config = config_of("two-step");
  const double time_s = first.simulate(kAllToAll, config, 7, 3).time_s;
  CHECK(first.simulate(kAllToAll, config, 7, 4).time_s != time_s);
  CHECK(first.simulate(kAllToAll, config, 8, 3).time_s != time_s);
  CHECK(second.simulate(kAllToAll, config, 7, 3).time_s == time_s);
  CHECK(first.simulate(kAllToAll, config, 7, 3).time_s == time_s);

  NoiseProfile machine;
  machine.name = "machine";
  machine.degraded[kNetwork] = {.probability = 0.03, .capacity = 0.3};
  machine.slow_gpus = {.probability = 0.02, .ranks = {}, .rate = 0.5};
  CHECK_FALSE(machine.random());
  first.set_noise(machine);
  std::vector<double> times;
  const Call large = call_of(CollectiveKind::AllToAll, 64 << 20);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    times.push_back(first.simulate(large, config, seed, 0).time_s);
    CHECK(first.simulate(large, config, seed, 9).time_s == times.back());
  }
  CHECK(*std::max_element(times.begin(), times.end()) >
        1.3 * *std::min_element(times.begin(), times.end()));
}

TEST_CASE("engines agree under noise: both see the same draws", "[sim][noise][thorough]") {
  SKIP_UNLESS(engine_names().size() > 1, test::kNeedsTwoEngines);
  double worst = 0;
  std::size_t compared = 0;
  Sample sample(8);
  const std::vector<std::pair<CollectiveKind, std::string>> programs{
      {CollectiveKind::AllToAll, "two-step"},
      {CollectiveKind::AllToAll, "naive"},
      {CollectiveKind::AllReduce, "ring"},
      {CollectiveKind::AllReduce, "hierarchical"},
      {CollectiveKind::AllGather, "ring"}};
  for (const std::string model : {"a100", "hockney"}) {
    for (const auto& [collective, algorithm] : programs) {
      for (const std::uint64_t bytes : {1ULL << 16, 1ULL << 20, 1ULL << 24}) {
        for (const bool tiles : {false, true}) {
          if (tiles && bytes != 1ULL << 20) continue;
          for (const std::uint64_t seed : {1ULL, 2ULL}) {
            if (sample.skips()) continue;
            const Config config =
                tiles ? with_tiles(config_of(algorithm, 2)) : config_of(algorithm, 2);
            std::vector<std::vector<double>> dates;
            for (const std::string& engine : engine_names()) {
              Simulator simulator = noisy_simulator(ndv4(3), everything(), engine, model);
              dates.push_back(ends_of(simulator.record(call_of(collective, bytes), config, seed)));
            }
            CAPTURE(model, algorithm, bytes, tiles, seed);
            const double difference = worst_noise_difference(dates[0], dates[1]);
            CHECK(difference < 1e-9);
            worst = std::max(worst, difference);
            compared += dates[0].size();
          }
        }
      }
    }
  }
  INFO(compared << " dates, worst difference " << worst);
  CHECK(compared > static_cast<std::size_t>(sample.scaled(kSanitized ? 50'000 : 100'000)));
}

TEST_CASE("unfolding changes nothing but the number of nodes", "[sim][noise]") {
  for (const std::string algorithm : {"two-step", "hierarchical", "ring"}) {
    const CollectiveKind collective =
        algorithm == "two-step" ? CollectiveKind::AllToAll : CollectiveKind::AllReduce;
    const auto fabric = ndv4(2);
    Simulator simulator(fabric, shipped_cost_model("a100"), "flow");
    const SimulationRecord record =
        simulator.record(call_of(collective, 1 << 20), with_tiles(config_of(algorithm, 2)));
    REQUIRE(record.graph->folded());
    REQUIRE(record.result.simulated_tiles == record.result.tiles);
    const LoweredProgram each = unfolded(record.lowered);
    CHECK_FALSE(each.graph->folded());
    CHECK(each.graph->size() == record.lowered.graph->firings());
    const auto engine = make_engine("flow");
    engine->load(each.graph);
    const EngineResult result = engine->run();
    CAPTURE(algorithm);
    CHECK(worst_noise_difference({result.start_s.begin(), result.start_s.end()}, record.start_s) <
          1e-12);
    CHECK(worst_noise_difference({result.end_s.begin(), result.end_s.end()}, record.end_s) < 1e-12);
    REQUIRE(each.rank_last.size() == record.lowered.rank_last.size());
    double last_s = 0;
    for (const TransferId node : each.rank_last) {
      last_s = std::max(last_s, result.end_s[static_cast<std::size_t>(node)]);
    }
    CHECK(last_s == Approx(record.result.time_s).epsilon(1e-12));
  }
}

TEST_CASE("times of single calls and of records have the same bits", "[sim][noise]") {
  // Records unfold the graph, single calls do not where nothing else is random.
  NoiseProfile cloud = noise_profile_for("cloud-ib");
  NoiseProfile fast = cloud;  // changes within a call, and jitter inside nodes
  fast.load[kNetwork].correlation_s = 5e-6;
  fast.jitter[static_cast<std::size_t>(LinkKind::NvLink)] = {.median_s = 50e-9, .sigma = 1};
  NoiseProfile jitter = cloud;
  jitter.load = {};
  int tiled_calls = 0;
  for (const NoiseProfile& noise : {cloud, fast, jitter, everything()}) {
    for (const std::string model : {"a100", "hockney"}) {
      for (const std::string algorithm : {"ring", "tree", "two-step", "hierarchical"}) {
        const CollectiveKind collective =
            algorithm == "two-step" ? CollectiveKind::AllToAll : CollectiveKind::AllReduce;
        Simulator simulator = noisy_simulator(ndv4(2), noise, "flow", model);
        const Config config = with_tiles(config_of(algorithm, 2));
        for (const std::uint64_t repetition : {0U, 5U}) {
          const Call call = call_of(collective, 1 << 19);
          const Result single = simulator.simulate(call, config, 3, repetition);
          const Result record = simulator.record(call, config, 3, repetition).result;
          CAPTURE(noise.name, model, algorithm, repetition);
          REQUIRE(single.time_s == record.time_s);
          REQUIRE(single.rank_time_s == record.rank_time_s);
          CHECK(single.simulated_tiles == record.simulated_tiles);
          CHECK(single.steps == record.steps);
          tiled_calls += single.tiles > 1 ? 1 : 0;
        }
      }
    }
  }
  CHECK(tiled_calls > 20);
}

TEST_CASE("stragglers have the expected cost", "[sim][noise]") {
  const Call call = call_of(CollectiveKind::AllToAll, 16 << 20);
  const Config config = config_of("two-step", 2);
  const auto time_s = [&](const NoiseProfile& noise, const CostModel& model) {
    Simulator simulator(ndv4(2), model, "flow");
    simulator.set_noise(noise);
    return simulator.simulate(call, config).time_s;
  };
  const CostModel a100 = shipped_cost_model("a100");
  SECTION("every network link at half its capacity is a network of half the efficiency") {
    NoiseProfile noise;
    noise.degraded[kNetwork] = {.probability = 1, .capacity = 0.5};
    CostModel half = a100;
    half.link_efficiency[kNetwork] *= 0.5;
    CHECK(time_s(noise, a100) == Approx(time_s({}, half)).epsilon(1e-12));
    CHECK(time_s(noise, a100) > 1.1 * time_s({}, a100));
    // This equals a constant load.
    NoiseProfile load;
    load.load[kNetwork] = {.correlation_s = 1, .states = {{0.5, 1}}};
    CHECK(time_s(load, a100) == Approx(time_s(noise, a100)).epsilon(1e-12));
  }
  SECTION("every GPU at half its rates is a model of half the rates") {
    NoiseProfile noise;
    noise.slow_gpus = {.probability = 1, .ranks = {}, .rate = 0.5};
    CostModel half = a100;
    half.local_copy_rate_Bps *= 0.5;
    half.local_reduce_rate_Bps *= 0.5;
    for (ProtocolCost& protocol : half.protocols) {
      protocol.thread_block_rate_Bps *= 0.5;
      protocol.reduce_rate_Bps *= 0.5;
      protocol.network_rate_Bps *= 0.5;
    }
    CHECK(time_s(noise, a100) == Approx(time_s({}, half)).epsilon(1e-12));
    CHECK(time_s(noise, a100) > 1.5 * time_s({}, a100));
    // A single slow GPU is enough to slow down the call.
    noise.slow_gpus = {.probability = 0, .ranks = {3}, .rate = 0.5};
    CHECK(time_s(noise, a100) > 1.2 * time_s({}, a100));
    CHECK(time_s(noise, a100) <= time_s({}, half) * (1 + 1e-12));
  }
  SECTION("start skew of the profile goes before that of the cost model") {
    CostModel skewed = a100;
    skewed.start_skew_s = 5e-6;
    NoiseProfile noise;
    noise.start_skew_s = 5e-6;
    CHECK(time_s(noise, a100) == time_s({}, skewed));
    noise.start_skew_s = 0;
    CHECK(time_s(noise, skewed) == time_s({}, a100));
    CHECK(time_s({}, skewed) > time_s({}, a100));
  }
}

TEST_CASE("jitter is latency of messages", "[sim][noise]") {
  const Config config = config_of("two-step", 2);
  const CostModel a100 = shipped_cost_model("a100");
  for (const bool tiles : {false, true}) {
    const Config used = tiles ? with_tiles(config) : config;
    const auto time_s = [&](const NoiseProfile& noise, const CostModel& model) {
      Simulator simulator(ndv4(2), model, "flow");
      simulator.set_noise(noise);
      return simulator.simulate(kAllToAll, used, 4).time_s;
    };
    // Without variance, jitter equals a network with that much more latency.
    NoiseProfile noise;
    noise.jitter[kNetwork] = {.median_s = 3e-6, .sigma = 0};
    CostModel late = a100;
    for (ProtocolCost& protocol : late.protocols) protocol.network_latency_s += 3e-6;
    CAPTURE(tiles);
    CHECK(time_s(noise, a100) == Approx(time_s({}, late)).epsilon(1e-12));
    CHECK(time_s(noise, a100) > time_s({}, a100) + 2.9e-6);
    // A tail on every message also adds latency.
    noise.jitter[kNetwork] = {.tail_probability = 1, .tail_least_s = 3e-6, .tail_shape = 3};
    CHECK(time_s(noise, a100) > time_s({}, late));
  }
}

TEST_CASE("other jobs take their share of the links, and the call does not wait for them",
          "[sim][noise]") {
  const Call call = call_of(CollectiveKind::AllToAll, 16 << 20);
  const Config config = config_of("naive", 1);
  CostModel model = shipped_cost_model("a100");
  for (ProtocolCost& protocol : model.protocols) protocol.network_rate_Bps = 1e30;
  const auto time_s = [&](const NoiseProfile& noise, int servers, std::uint64_t seed) {
    Simulator simulator(ndv4(servers), model, "flow");
    simulator.set_noise(noise);
    return simulator.simulate(call, config, seed).time_s;
  };
  NoiseProfile noise;
  noise.background = {.jobs = 64, .servers = 2, .bytes = std::uint64_t{1} << 40, .pause_s = 1e-9};
  const double alone_s = time_s({}, 2, 1);
  const double crowded_s = time_s(noise, 2, 1);
  CHECK(crowded_s > 1.3 * alone_s);
  CHECK(crowded_s < 20 * alone_s);  // less than one of their rounds, which takes a minute
  CHECK(time_s(noise, 2, 1) == crowded_s);
  CHECK(time_s(noise, 2, 2) != crowded_s);
  // Short rounds with long pauses hurt less.
  noise.background.bytes = 1 << 20;
  noise.background.pause_s = 1e-3;
  CHECK(time_s(noise, 2, 1) > alone_s);
  CHECK(time_s(noise, 2, 1) < crowded_s);
  // A single node has no network to share.
  CHECK(time_s(noise, 1, 1) == time_s({}, 1, 1));
}

TEST_CASE("jitter of too many messages is refused", "[sim][noise]") {
  NoiseProfile noise;
  noise.jitter[kNetwork] = {.median_s = 1e-6, .sigma = 1};
  Simulator simulator = noisy_simulator(ndv4(2), noise);
  Config config = config_of("two-step");
  config.tile_bytes = 16;
  std::string message;
  try {
    (void)simulator.simulate(call_of(CollectiveKind::AllToAll, 256 << 20), config);
  } catch (const UserError& error) {
    message = error.what();
  }
  CHECK(message.find("more than 20000000; expected larger tiles") != std::string::npos);
}
