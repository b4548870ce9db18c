#include "agents/trigger/trigger.hpp"

#include <cmath>

#include "agents/agents_testing.hpp"
#include "agents/baselines/simple_policies.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

// Calls of `kinds` kinds with jitter. In regime 1, calls of even kinds take `factor` times as long.
TriggerStream stream(std::size_t calls, std::uint64_t kinds, double factor, std::uint64_t seed) {
  TriggerStream made;
  Random random(seed);
  std::uint32_t regime = 0;
  for (std::size_t t = 0; t < calls; ++t) {
    if (random.uniform() < 1.0 / 300) regime = 1 - regime;
    const auto kind =
        static_cast<std::uint64_t>(random.integer(0, static_cast<std::int64_t>(kinds) - 1));
    double log_ratio = random.normal(0, 0.02);
    if (regime == 1 && kind % 2 == 0) log_ratio += std::log(factor);
    if (random.uniform() < 0.002) log_ratio += 0.6;  // rare late calls
    made.calls.push_back({.kind = kind, .log_ratio = log_ratio});
    made.regimes.push_back(regime);
  }
  return made;
}

std::vector<TriggerStream> streams(std::uint64_t first_seed, double factor) {
  std::vector<TriggerStream> made;
  for (std::uint64_t i = 0; i < 20; ++i) made.push_back(stream(4000, 6, factor, first_seed + i));
  return made;
}

TEST_CASE("A trained trigger finds changes soon and is rarely wrong, on unseen streams",
          "[agents][trigger]") {
  const auto learned = streams(100, 1.25);
  const TriggerParameters parameters = train_trigger(learned, 0.7);
  CHECK(parameters.sigma == Approx(0.02).epsilon(0.15));
  CHECK(parameters == train_trigger(learned, 0.7));
  const TriggerMeasure measure = measure_trigger(parameters, streams(500, 1.25));
  CHECK(measure.calls == 80'000);
  CHECK(measure.changes > 150);
  CHECK(measure.median_delay <= 10);
  CHECK(measure.false_alarms_per_1000() < 1);
  CHECK(measure.found > measure.changes * 3 / 4);
}

TEST_CASE("Changes that no call shows are not found, and no alarms are invented",
          "[agents][trigger]") {
  const TriggerParameters parameters = train_trigger(streams(100, 1.25), 0.7);
  const TriggerMeasure measure = measure_trigger(parameters, streams(900, 1.0));
  CHECK(measure.false_alarms_per_1000() < 1);
  CHECK(measure.found < measure.changes / 2);
}

TEST_CASE("One late call is no alarm; a lasting change is, in either direction",
          "[agents][trigger]") {
  const TriggerParameters parameters{.sigma = 0.02, .drift = 1, .limit = 4, .threshold = 5};
  for (const double change : {0.3, -0.3}) {
    RegimeTrigger trigger(parameters);
    for (int i = 0; i < 20; ++i) CHECK_FALSE(trigger.observe({.kind = 1, .log_ratio = 0}));
    CHECK_FALSE(trigger.observe({.kind = 1, .log_ratio = 5}));
    for (int i = 0; i < 20; ++i) CHECK_FALSE(trigger.observe({.kind = 1, .log_ratio = 0}));
    CHECK_FALSE(trigger.observe({.kind = 1, .log_ratio = change}));
    CHECK(trigger.observe({.kind = 1, .log_ratio = change}));
    // The trigger has learned the new level.
    for (int i = 0; i < 20; ++i) CHECK_FALSE(trigger.observe({.kind = 1, .log_ratio = change}));
  }
}

TEST_CASE("Delays, misses and false alarms are counted by their definitions", "[agents][trigger]") {
  const TriggerParameters parameters{.sigma = 0.02, .drift = 1, .limit = 4, .threshold = 5};
  TriggerStream made;
  const auto add = [&](int calls, double log_ratio, std::uint32_t regime) {
    for (int i = 0; i < calls; ++i) {
      made.calls.push_back({.kind = 1, .log_ratio = log_ratio});
      made.regimes.push_back(regime);
    }
  };
  add(20, 0, 0);
  add(20, 0.5, 1);  // found at its second call
  add(20, 0.5, 2);  // no visible change
  add(20, 0.0, 2);  // times change, not the regime: an alarm for the pending change
  add(20, 0.5, 2);  // times change again: a false alarm
  const TriggerMeasure measure = measure_trigger(parameters, std::vector<TriggerStream>{made});
  CHECK(measure.calls == 100);
  CHECK(measure.changes == 2);
  CHECK(measure.found == 2);
  CHECK(measure.false_alarms == 1);
  CHECK(measure.false_alarms_per_1000() == Approx(10));
  CHECK(measure.median_delay == 2);
}

TEST_CASE("A change that no call shows is silent, and not counted against the trigger",
          "[agents][trigger]") {
  // Calls within one node do not use the network, so its links may be degraded.
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml(
          "fabric: ndv4\n"
          "workload: {name: sweep, sizes: 1KiB..16MiB x4}\n"
          "actions: stock-nccl\n"
          "episode: 2000\n"
          "noise:\n"
          "  name: t\n"
          "  regimes:\n"
          "    - {noise: none, mean_calls: 50}\n"
          "    - noise: {name: elsewhere, degraded_links: {network: {probability: 1, "
          "capacity: 0.5}}}\n"
          "      mean_calls: 50\n"
          "    - {noise: {name: slow, slow_gpus: {ranks: [1], rate: 0.25}}, mean_calls: 50}\n",
          "t"),
      {});
  TunerPolicy policy("nccl-default");
  const TriggerStream made = record_stream(where, policy, 2000, 3);
  std::size_t changes = 0;
  for (std::size_t t = 1; t < made.regimes.size(); ++t) {
    CHECK(made.regimes[t] != 1);
    if (made.regimes[t] != made.regimes[t - 1]) ++changes;
  }
  CHECK(changes > 10);
  CHECK(made.silent_changes > 5);
  const TriggerMeasure measure = measure_trigger({}, std::vector<TriggerStream>{made});
  CHECK(measure.changes == changes);
  CHECK(measure.silent_changes == made.silent_changes);
}

}  // namespace
}  // namespace cclgym
