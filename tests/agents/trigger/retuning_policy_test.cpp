// Tests of the deployed pair of agents and of the file with the trigger.
#include "agents/trigger/retuning_policy.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "agents/agents_testing.hpp"
#include "agents/evaluation/evaluation.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

constexpr std::size_t kSizeCount = 4;
constexpr std::uint64_t kSettle = RetuningPolicy::kCallsToSettle;

TrainingEnvironment four_sizes() {
  return {"CollectiveTuning-v0",
          parse_yaml("{fabric: {name: ring, gpus: 4}, actions: stock-nccl, episode: 0, workload: "
                     "{name: sweep, sizes: 1KiB..64KiB x4, order: listed}}",
                     "t"),
          {}};
}

PolicyWeights agent_of(const TrainingEnvironment& where) {
  const PolicyShape shape = where.network_shape(
      {.observations = 0, .encoder = {12}, .lstm = 6, .head = 8, .value = 4, .levels = {}});
  return test::random_weights(shape, 70);
}

std::vector<TriggerOf> some_trigger() {
  return {{.fabric = "other",
           .noise = "none",
           .parameters = {.sigma = 0.02, .drift = 1, .limit = 4, .threshold = 5}}};
}

struct Played {
  std::vector<std::vector<std::int32_t>> actions;
  std::vector<std::uint64_t> decisions;  ///< count after each call
};

// Plays calls whose reported times are `factor(call)` times the expected times.
template <class Factor>
Played play(Policy& policy, const TrainingEnvironment& where, std::size_t calls, Factor factor) {
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  const std::size_t time = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  const std::size_t expected = info_index(environment.spec(), CollectiveTuningEnv::kExpected);
  environment.reset(1, buffers.view());
  policy.begin_episode(environment, 1);
  Played played;
  std::vector<std::int32_t> action(environment.spec().action_space.size());
  for (std::size_t call = 0; call < calls; ++call) {
    policy.act(buffers.observation, buffers.action_mask, environment, action);
    const StepOutcome outcome = environment.step(action, buffers.view());
    std::vector<double> info = buffers.info;
    info[time] = info[expected] * factor(call);
    policy.observe({.reward = outcome.reward, .done = outcome.done(), .info = info});
    played.actions.push_back(action);
    played.decisions.push_back(policy.decisions().value_or(call + 1));
  }
  return played;
}

TEST_CASE("Without a trigger, each class is decided once when the averages are full, then kept",
          "[agents][retuning-policy]") {
  const TrainingEnvironment where = four_sizes();
  RetuningPolicy frozen(agent_of(where), {}, "frozen");
  constexpr std::size_t kCalls = 100;
  const Played kept =
      play(frozen, where, kCalls, [](std::size_t call) { return call < 50 ? 1 : 9; });
  CHECK(kept.decisions[kSettle - 1] == kSettle);
  CHECK(kept.decisions.back() == kSettle + kSizeCount);
  CHECK(frozen.alarms() == 0);
  for (std::size_t call = kSettle + kSizeCount; call < kCalls; ++call) {
    CHECK(kept.actions[call] == kept.actions[call - kSizeCount]);
  }
  // As long as the policy decides every call, it acts like the agent itself, since the LSTM has the
  // same inputs.
  LearnedPolicy agent(agent_of(where));
  const Played every = play(agent, where, kCalls, [](std::size_t) { return 1; });
  for (std::size_t call = 0; call < kSettle + kSizeCount; ++call) {
    CHECK(kept.actions[call] == every.actions[call]);
  }
  CHECK(every.decisions.back() == kCalls);
  // A new episode is treated as a new cluster, so everything is decided again.
  CHECK(play(frozen, where, kCalls, [](std::size_t) { return 1; }).decisions.back() ==
        2 * (kSettle + kSizeCount));
}

TEST_CASE("After an alarm calls are decided again, then each class once",
          "[agents][retuning-policy]") {
  const TrainingEnvironment where = four_sizes();
  RetuningPolicy policy(agent_of(where), some_trigger(), "pair");
  constexpr std::size_t kChange = 60;
  const Played played =
      play(policy, where, 200, [](std::size_t call) { return call < kChange ? 1.0 : 1.5; });
  CHECK(policy.alarms() == 1);
  CHECK(played.decisions[kChange - 1] == kSettle + kSizeCount);
  // Two late calls raise the alarm (see trigger_test.cpp). Later decisions take the change into
  // account.
  const std::size_t alarm = kChange + 1;
  CHECK(played.decisions[alarm] == kSettle + kSizeCount);
  CHECK(played.decisions[alarm + kSettle] == 2 * kSettle + kSizeCount);
  CHECK(played.decisions[alarm + kSettle + kSizeCount] == 2 * (kSettle + kSizeCount));
  CHECK(played.decisions.back() == 2 * (kSettle + kSizeCount));
  // Without a change, there is no alarm.
  RetuningPolicy calm(agent_of(where), some_trigger(), "pair");
  CHECK(play(calm, where, 200, [](std::size_t) { return 1; }).decisions.back() ==
        kSettle + kSizeCount);
}

TEST_CASE("Evaluations report how many calls were decided", "[agents][retuning-policy]") {
  const TrainingEnvironment where = four_sizes();
  const PolicyWeights weights = agent_of(where);
  const std::vector<EvaluatedPolicy> policies{
      {"lstm-ppo", [&](std::uint64_t) { return std::make_unique<LearnedPolicy>(weights); }},
      {"frozen", [&](std::uint64_t) {
         return std::make_unique<RetuningPolicy>(weights, std::vector<TriggerOf>{}, "frozen");
       }}};
  const auto runs =
      evaluate_policies(where.setup(), policies, {.calls = 50, .seeds = {1, 2}, .notice = {}});
  for (const PolicySummary& one : summarize_runs(runs)) {
    const double expected = one.policy == "frozen" ? (kSettle + kSizeCount) / 50.0 : 1;
    CHECK(one.decisions_per_call == Approx(expected));
  }
}

TEST_CASE("Triggers are read back from their file, and the nearest one is found",
          "[agents][retuning-policy]") {
  const std::vector<TrainedTrigger> written{
      {.trigger = {"a", "jitter", {.sigma = 0.5, .drift = 1, .limit = 4, .threshold = 5}},
       .trained = {.calls = 10,
                   .changes = 1,
                   .median_delay = std::numeric_limits<double>::infinity()},
       .held_out = {}},
      {.trigger = {"it's {b}", "cloud-ib", {.sigma = 2, .drift = 1, .limit = 3, .threshold = 4}},
       .trained = {},
       .held_out = {}},
      {.trigger = {"c", "cloud-ib", {.sigma = 3, .drift = 1, .limit = 3, .threshold = 4}},
       .trained = {},
       .held_out = {}}};
  const std::vector<TriggerOf> read = read_triggers(triggers_text(written), "t.yaml");
  REQUIRE(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].fabric == written[i].trigger.fabric);
    CHECK(read[i].noise == written[i].trigger.noise);
    CHECK(read[i].parameters == written[i].trigger.parameters);
  }
  CHECK(read_triggers(triggers_text({}), "t.yaml").empty());
  CHECK(nearest_trigger(read, "c", "cloud-ib").parameters.sigma == 3);
  CHECK(nearest_trigger(read, "none", "cloud-ib").parameters.sigma == 2);
  CHECK(nearest_trigger(read, "c", "stragglers").parameters.sigma == 0.5);

  const auto fault_of = [](const std::string& text) {
    try {
      (void)read_triggers(text, "t.yaml");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string good =
      "- {fabric: a, noise: b, drift: 1, limit: 4, threshold: 5,\n   sigma: 1}\n";
  CHECK(fault_of(good).empty());
  CHECK(fault_of("- {fabric: a, sigma: 1}\n").find("noise") != std::string::npos);
  std::string zero = good;
  zero.replace(zero.find("sigma: 1"), 8, "sigma: 0");
  CHECK(fault_of(zero).starts_with("t.yaml:2:11: "));
  CHECK(fault_of(good + "- {sigmar: 1}\n").find("sigma") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
