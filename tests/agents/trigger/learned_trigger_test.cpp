// Training of the learned trigger: its gradient, what it finds in synthetic streams, and its file.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "agents/trigger/detector_table.hpp"
#include "agents/trigger/learned_training.hpp"
#include "agents/trigger/made_up_noise.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

// Calls of `kinds` kinds with jitter, some late; in each regime, two thirds of the kinds take
// another time, by up to `change` in the logarithm.
TriggerStream played(std::size_t calls, double sigma, double change, std::uint64_t seed) {
  constexpr std::int64_t kKinds = 6;
  TriggerStream made;
  Random random(seed);
  std::uint32_t regime = 0;
  for (std::size_t t = 0; t < calls; ++t) {
    if (random.uniform() < 1.0 / 250) ++regime;
    const auto kind = static_cast<std::uint64_t>(random.integer(0, kKinds - 1));
    double log_ratio = random.normal(0, sigma);
    if ((regime + kind) % 3 != 0) log_ratio += change * std::sin(7.0 * regime);
    if (random.uniform() < 0.002) log_ratio += 0.6;
    made.calls.push_back({.kind = kind, .log_ratio = log_ratio, .group = kind});
    made.regimes.push_back(change == 0 ? 0 : regime);
  }
  return made;
}

std::vector<TriggerStream> some_streams(std::size_t count, double sigma, double change,
                                        std::uint64_t seed) {
  std::vector<TriggerStream> streams;
  for (std::size_t i = 0; i < count; ++i) streams.push_back(played(1500, sigma, change, seed + i));
  return streams;
}

constexpr LearnedTriggerTraining kShort{.units = 6, .epochs = 12};

LearnedTriggerParameters trained_detector() {
  static const LearnedTriggerParameters trained =
      choose_threshold(fit_trigger_weights(some_streams(30, 0.02, 0.3, 100), 0.02, kShort, 1),
                       some_streams(20, 0.02, 0.3, 200), 0.7);
  return trained;
}

TriggerSequence random_sequence(std::size_t calls, Random& random) {
  TriggerSequence sequence;
  for (std::size_t t = 0; t < calls; ++t) {
    TriggerFeatureRow& row = sequence.inputs.emplace_back();
    for (double& one : row) one = random.uniform(-2, 2);
    sequence.changed.push_back(t > calls / 2 ? 1 : 0);
  }
  return sequence;
}

TEST_CASE("The learned trigger's gradient is that of finite differences",
          "[agents][learned-trigger]") {
  Random random(5);
  for (const std::size_t units : {1U, 3U, 8U}) {
    std::vector<double> weights(learned_trigger_weights(units));
    for (double& one : weights) one = random.uniform(-1, 1);
    const TriggerSequence sequence = random_sequence(25, random);
    std::vector<double> gradient(weights.size());
    const double loss = trigger_loss(weights, units, sequence, gradient);
    CHECK(loss == trigger_loss(weights, units, sequence, {}));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      constexpr double kStep = 1e-5;
      const double kept = weights[i];
      weights[i] = kept + kStep;
      const double more = trigger_loss(weights, units, sequence, {});
      weights[i] = kept - kStep;
      const double less = trigger_loss(weights, units, sequence, {});
      weights[i] = kept;
      INFO(units << " units, weight " << i);
      CHECK(gradient[i] == Approx((more - less) / (2 * kStep)).epsilon(1e-5).margin(1e-7));
    }
  }
}

TEST_CASE("The learned trigger's loss is the cross-entropy of its logits",
          "[agents][learned-trigger]") {
  // Without weights, the logit is the output's bias.
  std::vector<double> weights(learned_trigger_weights(2));
  weights.back() = 1.5;
  Random random(1);
  const TriggerSequence sequence = random_sequence(10, random);  // 4 calls after the change
  const double changed = 1 / (1 + std::exp(-1.5));
  CHECK(trigger_loss(weights, 2, sequence, {}) ==
        Approx(-4 * std::log(changed) - 6 * std::log(1 - changed)));
}

TEST_CASE("The learned trigger finds changes soon and is rarely wrong, on unseen streams",
          "[agents][learned-trigger]") {
  const LearnedTriggerParameters trained = trained_detector();
  const TriggerMeasure measure =
      measure_detector(ChangeDetector(trained), some_streams(20, 0.02, 0.3, 300));
  INFO(measure.found << " of " << measure.changes << ", median " << measure.median_delay
                     << ", false " << measure.false_alarms_per_1000());
  CHECK(measure.changes > 80);
  CHECK(measure.found > measure.changes * 4 / 5);
  CHECK(measure.median_delay <= 8);
  CHECK(measure.p90_delay >= measure.median_delay);
  CHECK(measure.false_alarms_per_1000() < 1.2);
}

TEST_CASE("The learned trigger is silent on noise, also of a machine with more of it",
          "[agents][learned-trigger]") {
  const ChangeDetector detector(trained_detector());
  for (const double sigma : {0.005, 0.02, 0.1}) {
    const TriggerMeasure calm = measure_detector(detector, some_streams(20, sigma, 0, 400));
    INFO("sigma " << sigma);
    CHECK(calm.changes == 0);
    CHECK(calm.false_alarms_per_1000() < 1.5);
  }
}

TEST_CASE("The learned trigger finds a step of one kind of call, in either direction",
          "[agents][learned-trigger]") {
  for (const double change : {0.3, -0.3}) {
    LearnedTrigger trigger(trained_detector());
    Random random(9);
    const auto call = [&](double level) {
      return trigger.observe({.kind = 1, .log_ratio = level + random.normal(0, 0.02), .group = 1});
    };
    for (int i = 0; i < 100; ++i) CHECK_FALSE(call(0));
    int delay = 1;
    while (!call(change) && delay < 50) ++delay;
    CHECK(delay <= 6);
    for (int i = 0; i < 100; ++i) CHECK_FALSE(call(change));
  }
}

TEST_CASE("The learned trigger finds changes that only the interfaces' bytes show",
          "[agents][learned-trigger]") {
  std::vector<TriggerStream> streams;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    TriggerStream& stream = streams.emplace_back();
    for (std::size_t t = 0; t < 400; ++t) {
      const std::uint32_t regime = t < 200 ? 0 : 1;
      const auto kind = static_cast<std::uint64_t>(random.integer(0, 3));
      stream.calls.push_back({.kind = kind,
                              .log_ratio = random.normal(0, 0.02),
                              .group = kind,
                              .counted = true,
                              .log_bytes = 14 + 0.3 * regime + random.normal(0, 0.03)});
      stream.regimes.push_back(regime);
    }
  }
  const TriggerMeasure measure = measure_detector(ChangeDetector(trained_detector()), streams);
  INFO("median " << measure.median_delay << ", false " << measure.false_alarms);
  CHECK(measure.found >= 18);
  CHECK(measure.median_delay <= 12);
  CHECK(measure.false_alarms <= 12);
}

TEST_CASE("The learned trigger's training has the same bits for the same seed",
          "[agents][learned-trigger]") {
  const auto streams = some_streams(3, 0.02, 0.3, 1);
  const LearnedTriggerTraining training{.units = 3, .epochs = 2};
  const auto first = fit_trigger_weights(streams, 0.02, training, 7);
  CHECK(first == fit_trigger_weights(streams, 0.02, training, 7));
  CHECK_FALSE(first == fit_trigger_weights(streams, 0.02, training, 8));
}

TEST_CASE("Sequences end with their alarms, and are labelled from the change on",
          "[agents][learned-trigger]") {
  TriggerStream stream;
  for (std::size_t t = 0; t < 300; ++t) {
    stream.calls.push_back({.kind = t % 3, .group = t % 3});
    stream.regimes.push_back(t < 200 ? 0 : 1);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::size_t calls = 0;
    double changed = 0;
    for (const TriggerSequence& sequence : trigger_sequences(stream, 0.02, random)) {
      REQUIRE(sequence.inputs.size() == sequence.changed.size());
      for (std::size_t i = 0; i < sequence.changed.size(); ++i, ++calls) {
        if (sequence.changed[i] > 0) CHECK((calls >= 200 && calls < 232));
        changed += sequence.changed[i];
        // An alarm forgets the kinds.
        if (i == 0) CHECK(sequence.inputs[i].back() == 1);
      }
    }
    CHECK(calls == 300);
    CHECK(changed >= 1);
  }
}

TEST_CASE("Made-up noise adds jitter, late calls and alternating times, and keeps the regimes",
          "[agents][learned-trigger]") {
  TriggerStream still;
  for (std::size_t t = 0; t < 20'000; ++t) {
    still.calls.push_back({.kind = t % 40, .group = t % 10});
    still.regimes.push_back(0);
  }
  std::size_t alternating = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const TriggerStream made = with_rough_noise(still, random);
    CHECK(made.regimes == still.regimes);
    const double spread = spread_within_regimes(std::vector{made});
    CHECK((spread > 0.01 && spread < 0.5));
    std::size_t late = 0;
    for (std::size_t kind = 0; kind < 40; ++kind) {
      std::vector<double> times;
      for (std::size_t t = kind; t < made.calls.size(); t += 40) {
        times.push_back(made.calls[t].log_ratio);
      }
      std::ranges::sort(times);
      // Half of the calls of an alternating kind have the upper of two levels.
      if (times[times.size() / 2] > 0.04 && times[times.size() * 3 / 4] > 0.1) ++alternating;
      late += static_cast<std::size_t>(
          std::ranges::count_if(times, [](double time) { return time > 1.2; }));
    }
    CHECK(late > 0);
    CHECK(late < 2000);
    Random again(seed);
    CHECK(with_rough_noise(still, again).calls.back().log_ratio == made.calls.back().log_ratio);
  }
  CHECK(alternating > 50);  // a quarter of 400 alternate
  CHECK(alternating < 200);
}

TrainedTrigger written_trigger() {
  return {.trigger = {.fabric = "it's {b}",
                      .noise = "cloud-ib",
                      .parameters = {},
                      .learned = trained_detector()},
          .trained = {},
          .held_out = {.calls = 2000,
                       .changes = 9,
                       .found = 8,
                       .false_alarms = 3,
                       .median_delay = 4,
                       .p90_delay = std::numeric_limits<double>::infinity()}};
}

TEST_CASE("Learned triggers are read back from their file with their results",
          "[agents][learned-trigger]") {
  const TrainedTrigger cusum{
      .trigger = {"a", "jitter", {.sigma = 0.5, .drift = 1, .limit = 4, .threshold = 5}},
      .trained = {},
      .held_out = {.calls = 2000, .changes = 9, .found = 7, .median_delay = 5, .p90_delay = 11}};
  const std::vector<TrainedTrigger> written{cusum, written_trigger()};
  const auto read = read_trained_triggers(triggers_text(written), "t.yaml");
  REQUIRE(read.size() == 2);
  CHECK(!read[0].trigger.learned);
  CHECK(read[0].trigger.parameters == cusum.trigger.parameters);
  REQUIRE(read[1].trigger.learned);
  CHECK(read[1].trigger.fabric == "it's {b}");
  CHECK(read[1].trigger.learned->weights == trained_detector().weights);
  CHECK(*read[1].trigger.learned == trained_detector());
  for (std::size_t i = 0; i < 2; ++i) {
    const TriggerMeasure& found = read[i].held_out;
    const TriggerMeasure& expected = written[i].held_out;
    CHECK(found.found == expected.found);
    CHECK(found.changes == expected.changes);
    CHECK(found.false_alarms == expected.false_alarms);
    CHECK(found.median_delay == expected.median_delay);
    CHECK(found.p90_delay == expected.p90_delay);
  }
  // A CUSUM alone has the text that it had before there were learned triggers.
  CHECK(triggers_text(std::vector{cusum}).find("p90") == std::string::npos);
  CHECK(triggers_text(std::vector{cusum}).find("form") == std::string::npos);

  std::vector<SeedTrigger> rows;
  for (const TrainedTrigger& one : read) rows.push_back({.seed = 1, .trained = one});
  const std::string table = detector_table(rows);
  CHECK(table.find("cusum       7 of 9       5     11          0.000\n") != std::string::npos);
  CHECK(table.find("lstm        8 of 9       4    inf          1.500\n") != std::string::npos);
  CHECK(detector_table(std::vector{rows[0]}).empty());
}

TEST_CASE("Damaged files of learned triggers are refused at the damage",
          "[agents][learned-trigger]") {
  const std::string good = triggers_text(std::vector{written_trigger()});
  const auto fault_of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    try {
      (void)read_triggers(text, "t.yaml");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(fault_of("units: 6", "units: 6").empty());
  CHECK(fault_of("units: 6", "units: 7")
            .find("t.yaml:9:12: the learned trigger has 319 weights, expected 400") !=
        std::string::npos);
  CHECK(fault_of("units: 6", "units: 65").starts_with("t.yaml:5:10: "));
  CHECK(fault_of("form: lstm", "form: lstn").find("lstm") != std::string::npos);
  CHECK(fault_of("form: lstm", "form: cusum").find("units") != std::string::npos);
  CHECK(fault_of("weights: [", "weights: [x, ").starts_with("t.yaml:9:13: "));
  CHECK(fault_of("weights: [", "weights: [.inf, ").starts_with("t.yaml:9:13: "));
  CHECK(fault_of("confirm: ", "confirm: -").starts_with("t.yaml:7:"));
  CHECK(fault_of("pause", "puase").find("pause") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
