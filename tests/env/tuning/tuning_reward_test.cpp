// Compares each reward with its formula.
#include "env/tuning/tuning_reward.hpp"

#include <cmath>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

TuningReward reward_of(const std::string& yaml) {
  return TuningReward(read_reward(parse_yaml(yaml, "test.yaml")));
}

RewardInput call(double time_s, double default_s) {
  RewardInput input;
  input.time_s = input.expected_s = input.typical_s = time_s;
  input.default_s = input.paired_s = default_s;
  return input;
}

}  // namespace

TEST_CASE("log-speedup and negative-time", "[env][tuning-reward]") {
  CHECK(reward_of("log-speedup").reward(call(1e-6, 4e-6)) == Approx(std::log(4.0)));
  CHECK(reward_of("log-speedup").reward(call(2e-6, 2e-6)) == 0);
  CHECK(reward_of("negative-time").reward(call(3e-6, 4e-6)) == Approx(-3));
}

TEST_CASE("rolling: the mean over W calls, only while the network is shared",
          "[env][tuning-reward]") {
  TuningReward reward = reward_of("{name: rolling, window: 3}");
  RewardInput input = call(1e-6, 1e-6);
  const double logs[] = {0.5, -1, 2, 0.25, 1};
  std::vector<double> got;
  for (const double log : logs) {
    input.default_s = 1e-6 * std::exp(log);
    input.shared_network = true;
    got.push_back(reward.reward(input));
  }
  CHECK(got[0] == Approx(0.5));
  CHECK(got[1] == Approx(-0.25));
  CHECK(got[2] == Approx(0.5));
  CHECK(got[3] == Approx(1.25 / 3));
  CHECK(got[4] == Approx(3.25 / 3));
  input.shared_network = false;
  CHECK(reward.reward(input) == Approx(1));
  reward.start();
  input.shared_network = true;
  CHECK(reward.reward(input) == Approx(1));
}

TEST_CASE("rolling: calls of another class do not enter the mean", "[env][tuning-reward]") {
  TuningReward reward = reward_of("rolling");
  RewardInput input = call(1e-6, 1e-6);
  input.shared_network = true;
  // Two classes by turns, whose log speedups are 1, 2, 3, … and -1, -2, -3, …
  for (int i = 1; i <= 25; ++i) {
    for (const double sign : {1.0, -1.0}) {
      input.call_class = sign > 0 ? 3 : 11;
      input.default_s = 1e-6 * std::exp(sign * i / 10);
      const double mean = i <= 10 ? (i + 1) / 20.0 : (i - 4.5) / 10;
      CHECK(reward.reward(input) == Approx(sign * mean));
    }
  }
}

TEST_CASE("paired-log-speedup compares with the default under the noise of the call",
          "[env][tuning-reward]") {
  RewardInput input = call(2e-6, 4e-6);
  input.paired_s = 6e-6;
  CHECK(reward_of("paired-log-speedup").reward(input) == Approx(std::log(3.0)));
  CHECK(reward_of("log-speedup").reward(input) == Approx(std::log(2.0)));
}

TEST_CASE("tail: a p99 far above the median costs, a steady time does not",
          "[env][tuning-reward]") {
  TuningReward reward = reward_of("{name: tail, tail_weight: 0.5}");
  RewardInput input = call(1e-6, 2e-6);
  for (int i = 0; i < 98; ++i) CHECK(reward.reward(input) == Approx(std::log(2.0)));
  input.time_s = 8e-6;  // eight times the typical time
  const double slow = std::log(2.0 / 8) - 0.5 * std::log(8.0);
  CHECK(reward.reward(input) == Approx(slow));  // one call of 99 is above the p99: pays its excess
  input.time_s = 1e-6;
  CHECK(reward.reward(input) == Approx(std::log(2.0)));  // the others do not
  input.time_s = 8e-6;
  CHECK(reward.reward(input) == Approx(slow));
  input.time_s = 1e-6;  // now the p99 itself is late
  CHECK(reward.reward(input) == Approx(std::log(2.0) - 0.5 * std::log(8.0)));
  input.call_class = 1;  // a class of calls that were never late
  CHECK(reward.reward(input) == Approx(std::log(2.0)));
}

TEST_CASE("terms for the tail, the step and the fan-out add to any reward",
          "[env][tuning-reward]") {
  SECTION("the tail, in us for rewards in us") {
    TuningReward reward = reward_of("{name: negative-time, tail_weight: 2}");
    RewardInput input = call(3e-6, 4e-6);
    for (std::size_t i = 0; i < TuningReward::kLeastTailCalls; ++i) {
      CHECK(reward.reward(input) == Approx(-3));
    }
    input.time_s = 6e-6;
    CHECK(reward.reward(input) == Approx(-6 - 2 * 3 * std::log(2.0)));
  }
  SECTION("the step") {
    TuningReward reward = reward_of("{name: log-speedup, step_weight: 3}");
    RewardInput input = call(1e-3, 2e-3);
    CHECK(reward.reward(input) == Approx(std::log(2.0)));
    input.context.compute_s = 4e-3;
    input.context.ends_step = true;
    // 1 + 4 + 1 ms instead of 2 + 4 + 2.
    CHECK(reward.reward(input) == Approx(std::log(2.0) + 3 * std::log(8.0 / 6)));
    TuningReward in_us = reward_of("{name: negative-time, step_weight: 0.5}");
    CHECK(in_us.reward(input) == Approx(-1000 - 0.5 * 5000));
  }
  SECTION("the fan-out amplifies gains, not losses") {
    TuningReward reward = reward_of("{name: log-speedup, fan_out_weight: 0.5}");
    RewardInput input = call(1e-6, 2e-6);
    CHECK(reward.reward(input) == Approx(std::log(2.0)));
    input.fan_out = 0.8;
    CHECK(reward.reward(input) == Approx(1.4 * std::log(2.0)));
    input.time_s = 3e-6;
    CHECK(reward.reward(input) == Approx(std::log(2.0 / 3)));
    TuningReward in_us = reward_of("{name: negative-time, fan_out_weight: 0.5}");
    input.time_s = 1e-6;
    CHECK(in_us.reward(input) == Approx(-1 + 0.5 * 0.8 * 1));
  }
}

TEST_CASE("alpha-beta: SCCL's bonuses", "[env][tuning-reward]") {
  TuningReward reward = reward_of("{name: alpha-beta, alpha_weight: 2, beta_weight: 3}");
  RewardInput input = call(10e-6, 10e-6);
  input.steps = 4;
  input.alpha_s = 1e-6;
  input.least_steps = 2;
  input.least_beta_s = 5e-6;
  // -10 us; 4 steps, but 2 are enough; 10 - 4 us for the data, but 5 us are enough.
  CHECK(reward.reward(input) == Approx(-10 + 2 * (2 - 4) + 3 * (5 - 6)));
}

TEST_CASE("step-time: only time that compute does not hide counts, at the end of the iteration",
          "[env][tuning-reward]") {
  TuningReward reward = reward_of("step-time");
  RewardInput input = call(2e-3, 4e-3);
  input.context.overlaps = true;
  input.context.compute_s = 3e-3;
  CHECK(reward.reward(input) == 0);
  input.context.ends_step = true;
  // Calls start at 3 and 6 ms. They end at 5 and 8 ms; with the defaults, at 7 and 11 ms.
  CHECK(reward.reward(input) == Approx(std::log(11.0 / 8)));
  // Nothing is carried over to the next iteration, and nothing is hidden without overlap.
  input.context.overlaps = false;
  CHECK(reward.reward(input) == Approx(std::log(7.0 / 5)));
}

TEST_CASE("mistakes in rewards are reported with their location", "[env][tuning-reward]") {
  CHECK_THROWS_AS(reward_of("speedup"), UserError);
  CHECK_THROWS_AS(reward_of("{window: 3}"), UserError);
  CHECK_THROWS_AS(reward_of("{name: tail, tail_weight: -1}"), UserError);
}
