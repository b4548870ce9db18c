// The learned trigger's inputs and runtime.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/random.hpp"
#include "deploy/trigger/change_detector.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace cclgym::test {
namespace {

LearnedTriggerParameters random_trigger(std::size_t units, std::uint64_t seed) {
  LearnedTriggerParameters made{.units = units, .threshold = 1, .confirm = 2, .pause = 3};
  Random random(seed);
  made.weights.resize(learned_trigger_weights(units));
  for (double& one : made.weights) one = random.uniform(-1, 1);
  return made;
}

TriggerInput any_call(Random& random) {
  const auto kind = static_cast<std::uint64_t>(random.integer(0, 9));
  return {.kind = kind,
          .log_ratio = random.normal(0, 0.05),
          .group = kind / 2,
          .counted = true,
          .log_bytes = 14 + random.normal(0, 0.02)};
}

TEST_CASE("trigger features: by hand for the first calls of a kind") {
  TriggerFeatures features(0.1);
  const auto first = features.observe({.kind = 1, .log_ratio = 5, .group = 1});
  CHECK(first == TriggerFeatureRow{0, 0, 0, 0, 0, 1});
  const auto second = features.observe({.kind = 1, .log_ratio = 5.1, .group = 1});
  CHECK(second[0] == Approx(1 / std::sqrt(2.0) / 2));
  CHECK(second[1] == 0);
  CHECK(second[2] == Approx((1 / std::sqrt(2.0) - 2.326) / 2));
  CHECK(second[3] == Approx(std::log(2.0) / 4));
  CHECK(second[4] == Approx(std::log(2.0) / 2));
  CHECK(second[5] == 0);
  // Another kind of the class is new, but the class's tail is known.
  CHECK(features.observe({.kind = 2, .log_ratio = 9, .group = 1})[5] == 1);
  // A large deviation is clipped, and the tail shows it.
  const auto late = features.observe({.kind = 1, .log_ratio = 9, .group = 1});
  CHECK(late[0] == 2);
  CHECK(late[2] > 1.9);
}

TEST_CASE("trigger features: the spread is learned, and stays after an alarm") {
  TriggerFeatures features(0.01);
  Random random(3);
  const auto size_of = [&](int calls) {
    double sum = 0;
    for (int i = 0; i < calls; ++i) {
      sum += std::abs(features.observe({.kind = 1, .log_ratio = random.normal(2, 0.1)})[0]);
    }
    return sum / calls;
  };
  // The mean of |z| / 2 of normal numbers is 0.40.
  CHECK(size_of(10) > 1);
  (void)size_of(300);
  CHECK(size_of(1000) == Approx(0.4).margin(0.06));
  features.forget();
  CHECK(size_of(200) == Approx(0.4).margin(0.1));
  features.start();
  CHECK(size_of(10) > 1);
}

TEST_CASE("trigger features: calls beyond the p99 of a class are rare") {
  TriggerFeatures features(0.05);
  Random random(4);
  int beyond = 0;
  double least = 0;
  for (int i = 0; i < 20000; ++i) {
    // One in a hundred exponential numbers is beyond 4.6 times the mean.
    const double tail = features.observe({.kind = 1, .log_ratio = random.exponential(0.05)})[2];
    if (i >= 2000 && tail > 0) ++beyond;
    least = std::min(least, tail);
  }
  // A call stays among the last eight of the class, for as many inputs.
  CHECK(beyond / 8 > 100);
  CHECK(beyond / 8 < 300);
  CHECK(least >= -2);
}

TEST_CASE("learned trigger: observing does not allocate") {
  LearnedTrigger trigger(random_trigger(8, 1));
  Random random(2);
  const long before = allocations();
  int alarms = 0;
  for (int i = 0; i < 10'000; ++i) alarms += trigger.observe(any_call(random)) ? 1 : 0;
  trigger.start();
  CHECK(allocations() == before);
  CHECK(alarms > 0);
}

TEST_CASE("learned trigger: two successive calls confirm, and a pause follows an alarm") {
  // All weights 0: the logit is the bias, above the threshold.
  LearnedTriggerParameters constant{.units = 1, .threshold = 1, .confirm = 2, .pause = 3};
  constant.weights.resize(learned_trigger_weights(1));
  constant.weights.back() = 2;
  LearnedTrigger trigger(constant);
  std::vector<bool> alarms;
  for (int i = 0; i < 12; ++i) alarms.push_back(trigger.observe({.kind = 1}));
  CHECK(trigger.logit() == 2);
  CHECK(alarms == std::vector<bool>{false, true, false, false, false, true, false, false, false,
                                    true, false, false});
}

TEST_CASE("learned trigger: a start forgets everything") {
  LearnedTrigger used(random_trigger(4, 3));
  LearnedTrigger fresh(random_trigger(4, 3));
  Random random(1);
  for (int i = 0; i < 500; ++i) (void)used.observe(any_call(random));
  used.start();
  for (int i = 0; i < 500; ++i) {
    const TriggerInput call = any_call(random);
    CHECK(used.observe(call) == fresh.observe(call));
    CHECK(used.logit() == fresh.logit());
  }
}

TEST_CASE("learned trigger: numbers that are not finite do no lasting harm") {
  LearnedTrigger trigger(random_trigger(4, 3));
  for (const double bad : {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::nan("")}) {
    for (int i = 0; i < 3; ++i) {
      (void)trigger.observe({.kind = 1, .log_ratio = bad, .counted = true, .log_bytes = bad});
      (void)trigger.observe({.kind = 1, .log_ratio = 0, .counted = true, .log_bytes = 1});
      CHECK(std::isfinite(trigger.logit()));
    }
  }
}

TEST_CASE("learned trigger: wrong parameters are refused") {
  const auto refused = [](auto change) {
    LearnedTriggerParameters wrong = random_trigger(4, 1);
    change(wrong);
    CHECK(!learned_trigger_fault(wrong).empty());
    CHECK_THROWS_AS(LearnedTrigger(wrong), std::invalid_argument);
  };
  CHECK(learned_trigger_fault(random_trigger(4, 1)).empty());
  refused([](auto& one) { one.weights.pop_back(); });
  refused([](auto& one) { one.units = 0; });
  refused([](auto& one) { one.units = kMaxTriggerUnits + 1; });
  refused([](auto& one) { one.weights[3] = std::nan(""); });
  refused([](auto& one) { one.confirm = 0; });
  refused([](auto& one) { one.sigma = 0; });
}

TEST_CASE("paired triggers: an alarm of either one counts, and both forget") {
  const TriggerParameters parameters{.sigma = 0.02, .drift = 1, .limit = 4, .threshold = 5};
  ChangeDetector pair(parameters, parameters);
  const auto call = [&](double time, double bytes) {
    return pair.observe({.kind = 1, .log_ratio = time, .counted = true, .log_bytes = bytes});
  };
  for (int i = 0; i < 20; ++i) CHECK_FALSE(call(0, 10));
  CHECK_FALSE(call(0, 11));
  CHECK(call(0, 11));
  for (int i = 0; i < 20; ++i) CHECK_FALSE(call(0.5, 11));  // times are forgotten, too
  CHECK_FALSE(call(0, 11));
  CHECK(call(0, 11));
}

}  // namespace
}  // namespace cclgym::test
