// Checks from the outside that training follows its file: learning curves with a known result, the
// learning rate of each update, the schedule of environments.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/learned_policy.hpp"
#include "agents/training/trainer.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

// All reports of a training run, and its final state.
struct Told {
  std::vector<IterationReport> reports;
  Checkpoint end;
};

Told train(const std::string& text, const std::string& name, std::uint64_t seed = 1) {
  const test::TemporaryFolder folder;
  Told told;
  TrainerOptions options;
  options.report = [&](const IterationReport& report) {
    told.reports.push_back(report);
    return true;
  };
  told.end = train_agent(read_train_config(text, name + ".yaml"), seed, folder.path(), options);
  return told;
}

// One repeated call: a bandit whose arms are the legal actions.
const std::string kBandit =
    "{fabric: ndv4, workload: {name: sweep, sizes: [64KiB]}, actions: stock-nccl, episode: 16, "
    "oracle: true}";

std::string bandit(const std::string& ppo) {
  return "name: bandit\ntrain: [{options: " + kBandit +
         "}]\nevaluate: [{label: bandit, options: " + kBandit +
         "}]\n"
         "agent: {encoder: [8], lstm: 0, head: 8, value: 8}\n"
         "warm_start: {iterations: 0}\n"
         "ppo: {environments: 4, steps: 64, sequence: 1, gamma: 0, learning_rate: 0.01, " +
         ppo + "}\nevaluate_every: 1\n";
}

// Rewards of the bandit's arms, by the oracle.
struct Arms {
  double best_reward = -std::numeric_limits<double>::infinity();
  double mean_reward = 0;
  std::size_t count = 0;
};
Arms arms() {
  const TrainingEnvironment where("CollectiveTuning-v0", parse_yaml(kBandit, "t"), {});
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  Arms found;
  const auto actions = where.setup()->actions->legal_actions(CollectiveKind::AllReduce);
  const std::size_t knobs = environment.spec().action_space.size();
  found.count = actions.size() / knobs;
  environment.reset(1, buffers.view());
  for (std::size_t i = 0; i < found.count; ++i) {
    if (i % 8 == 0) environment.reset(1, buffers.view());
    const double reward =
        environment.step(actions.subspan(i * knobs, knobs), buffers.view()).reward;
    found.best_reward = std::max(found.best_reward, reward);
    found.mean_reward += reward / static_cast<double>(found.count);
  }
  return found;
}

TEST_CASE("On a bandit, PPO's reward rises to the best arm's, and its entropy falls",
          "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const Arms known = arms();
  REQUIRE(known.count > 5);
  REQUIRE(known.best_reward > known.mean_reward + 0.2);
  const Told told = train(bandit("iterations: 16, entropy: 0.01"), "bandit");
  REQUIRE(told.reports.size() == 16);
  const IterationReport& first = told.reports.front();
  const IterationReport& last = told.reports.back();
  INFO("reward " << first.mean_reward << " to " << last.mean_reward << ", best "
                 << known.best_reward << ", entropy " << first.loss.entropy << " to "
                 << last.loss.entropy << ", ratio " << first.evaluation.at(0).oracle_ratio << " to "
                 << last.evaluation.at(0).oracle_ratio);
  CHECK(first.mean_reward < known.best_reward - 0.1);
  CHECK(last.mean_reward > known.best_reward - 0.05);
  CHECK(last.mean_reward <= known.best_reward + 1e-6);
  CHECK(last.loss.entropy < 0.5 * first.loss.entropy);
  CHECK(last.evaluation.at(0).oracle_ratio <= 1.05);
}

TEST_CASE("A larger entropy bonus keeps more entropy", "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const auto entropy = [](const std::string& weight) {
    return train(bandit("iterations: 4, entropy: " + weight), "bonus" + weight)
        .reports.back()
        .loss.entropy;
  };
  const double none = entropy("0");
  const double some = entropy("1");
  INFO(none << " without, " << some << " with");
  CHECK(some > none + 0.5);
}

// Learning rate of an update: the distance that the weights moved, relative to the distance for
// rate 1 computed from Adam's state after the update. Weights with almost no gradient are left out.
double rate_of(const Checkpoint& before, const Checkpoint& after) {
  const double count = static_cast<double>(after.adam.steps);
  const double mean_correction = 1 - std::pow(0.9, count);
  const double square_correction = 1 - std::pow(0.999, count);
  double moved = 0;
  double direction = 0;
  for (std::size_t i = 0; i < after.weights.tensors.size(); ++i) {
    for (std::size_t j = 0; j < after.weights.tensors[i].values.size(); ++j) {
      const double mean = static_cast<double>(after.adam.mean[i][j]) / mean_correction;
      const double square = static_cast<double>(after.adam.square[i][j]) / square_correction;
      if (square < 1e-12) continue;
      direction += std::abs(mean / std::sqrt(square));
      moved += std::abs(static_cast<double>(after.weights.tensors[i].values[j]) -
                        static_cast<double>(before.weights.tensors[i].values[j]));
    }
  }
  return moved / direction;
}

// Reported and actual rate of each iteration, with one update per iteration.
struct Rates {
  std::vector<double> said;
  std::vector<double> applied;
};
Rates rates(const std::string& text, const std::string& name) {
  const test::TemporaryFolder folder;
  const TrainConfig config = read_train_config(text, name + ".yaml");
  Rates found;
  Checkpoint before;
  TrainerOptions options;
  options.report = [&](const IterationReport& report) {
    Checkpoint after = load_checkpoint(checkpoint_path(folder.path(), 1));
    if (report.iteration > 1) found.applied.push_back(rate_of(before, after));
    if (report.iteration > 1) found.said.push_back(report.learning_rate);
    before = std::move(after);
    return true;
  };
  (void)train_agent(config, 1, folder.path(), options);
  return found;
}

TEST_CASE("The learning rate falls to a tenth, in the warm start and in PPO",
          "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string text =
      "name: rates\ntrain: [{options: " + kBandit +
      "}]\n"
      "agent: {encoder: [4], lstm: 2, head: 4, value: 4}\n"
      "warm_start: {iterations: 4, learning_rate: 0.02}\n"
      "ppo: {iterations: 5, environments: 2, steps: 16, sequence: 4, epochs: 1, minibatches: 1, "
      "learning_rate: 0.01}\ncheckpoint_every: 1\n";
  const Rates found = rates(text, "rates");
  // Rates from the second iteration on: rate x (0.1 + 0.9 x remaining fraction), restarting in PPO.
  const std::vector<double> expected{0.02 * (0.1 + 0.9 * 3 / 4), 0.02 * (0.1 + 0.9 * 2 / 4),
                                     0.02 * (0.1 + 0.9 * 1 / 4), 0.01,
                                     0.01 * (0.1 + 0.9 * 4 / 5), 0.01 * (0.1 + 0.9 * 3 / 5),
                                     0.01 * (0.1 + 0.9 * 2 / 5), 0.01 * (0.1 + 0.9 * 1 / 5)};
  REQUIRE(found.said.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("iteration " << i + 2);
    CHECK(found.said[i] == Approx(expected[i]));
    CHECK(found.applied[i] == Approx(expected[i]).epsilon(2e-3));
  }
}

TEST_CASE("DQN's learning rate falls to a tenth, too", "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string text =
      "name: rates\ntrain: [{options: " + kBandit +
      "}]\n"
      "agent: {encoder: [4], lstm: 0, head: 4, value: 4}\nalgorithm: dqn\n"
      "ppo: {iterations: 4, environments: 2, steps: 16, sequence: 4, learning_rate: 0.01}\n"
      "dqn: {updates: 1, batch: 32}\ncheckpoint_every: 1\n";
  const Rates found = rates(text, "dqn-rates");
  REQUIRE(found.said.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const double expected = 0.01 * (0.1 + 0.9 * (3 - static_cast<double>(i)) / 4);
    CHECK(found.said[i] == Approx(expected));
    CHECK(found.applied[i] == Approx(expected).epsilon(2e-3));
  }
}

TEST_CASE("Advantages have mean 0, so that PPO's loss begins at 0", "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  // At rate 0 the policy does not change, so every ratio is 1.
  const Told told = train(
      "name: t\ntrain: [{options: " + kBandit +
          "}]\nagent: {encoder: [4], lstm: 2, head: 4, value: 4}\nwarm_start: {iterations: 0}\n"
          "ppo: {iterations: 1, environments: 2, steps: 32, sequence: 4, learning_rate: 0}\n",
      "advantages");
  CHECK(std::abs(told.reports.at(0).mean_reward) > 0.05);
  CHECK(told.reports.at(0).loss.divergence < 1e-6);
  CHECK(std::abs(told.reports.at(0).loss.policy) < 1e-5);
}

TEST_CASE("Without its prior the critic begins at nothing, with it at what alpha and beta say",
          "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string ndv4 =
      "{fabric: ndv4, workload: {name: sweep, sizes: [64KiB]}, actions: stock-nccl, episode: 16}";
  const auto value_loss = [&](const std::string& rest) {
    return train("name: t\ntrain: [{options: " + ndv4 +
                     "}]\nagent: {encoder: [4], lstm: 2, head: 4, value: 4}\n"
                     "warm_start: {iterations: 0}\nppo: {iterations: 1, environments: 2, steps: "
                     "32, sequence: 4, gamma: 0, learning_rate: 0}\n" +
                     rest,
                 "prior")
        .reports.at(0);
  };
  const IterationReport with = value_loss("value_prior: bounds\n");
  const IterationReport without = value_loss("value_prior: false\n");
  CHECK(with.mean_reward == without.mean_reward);
  const TrainingEnvironment where("CollectiveTuning-v0", parse_yaml(ndv4, "t"), {});
  const double prior = static_cast<double>(value_prior(
      *[&] {
        auto environment = where.make();
        OwnedBuffers buffers(environment->spec());
        environment->reset(1, buffers.view());
        return environment;
      }(),
      ValuePrior::Bounds));
  REQUIRE(prior > 0.5);
  // With gamma 0, the targets are the rewards r: mean (p - r)^2 - mean (0 - r)^2 = p^2 - 2 p mean
  // r.
  CHECK(with.loss.value - without.loss.value ==
        Approx(prior * prior - 2 * prior * with.mean_reward).epsilon(0.15));
}

// Min and max of a reward that is -time, for one call on a ring.
std::pair<double, double> rewards_of(const std::string& size) {
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml("{fabric: {name: ring, gpus: 4}, actions: stock-nccl, workload: {name: sweep, "
                 "sizes: [" +
                     size + "]}}",
                 "t"),
      {});
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(1, buffers.view());
  const Call call = environment.next_call().call;
  std::vector<double> times_s(where.setup()->actions->legal_count(call.collective));
  environment.oracle().all_times(call, times_s);
  const auto [least, most] = std::ranges::minmax_element(times_s);
  return {-*most * 1e6, -*least * 1e6};
}

TEST_CASE("An environment is played from its first iteration on, and until its last",
          "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const auto part = [](const std::string& size, const std::string& when) {
    return "  - {options: {fabric: {name: ring, gpus: 4}, actions: stock-nccl, reward: "
           "negative-time, workload: {name: sweep, sizes: [" +
           size + "]}}" + when + "}\n";
  };
  const Told told =
      train("name: curriculum\ntrain:\n" + part("256MiB", ", until: 2") +
                part("1KiB", ", from: 1") + part("256MiB", ", from: 4") +
                "agent: {encoder: [4], lstm: 2, head: 4, value: 4}\nwarm_start: {iterations: 0}\n"
                "ppo: {iterations: 5, environments: 2, steps: 8, sequence: 4}\n",
            "curriculum");
  REQUIRE(told.reports.size() == 5);
  const auto [slowest_large, fastest_large] = rewards_of("256MiB");
  const auto [slowest_small, fastest_small] = rewards_of("1KiB");
  REQUIRE(fastest_large / 2 < 10 * slowest_small);
  const auto reward = [&](std::size_t i) { return told.reports[i].mean_reward; };
  // The iterations have only large calls, then both sizes in turn, then only small calls, then both
  // again.
  CHECK(reward(0) <= fastest_large);
  CHECK(reward(0) >= slowest_large);
  for (const std::size_t mixed : {1U, 4U}) {
    CHECK(reward(mixed) <= (fastest_large + fastest_small) / 2);
    CHECK(reward(mixed) >= (slowest_large + slowest_small) / 2);
  }
  for (const std::size_t small : {2U, 3U}) {
    CHECK(reward(small) >= slowest_small);
    CHECK(reward(small) <= fastest_small);
  }
}

TEST_CASE("The oracle's pupil is within 5 % of it after the warm start alone",
          "[agents][learning]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string options =
      "{fabric: ndv4, workload: {name: sweep, sizes: 1KiB..1MiB x4}, actions: stock-nccl, "
      "episode: 24, oracle: true}";
  const auto ratio = [&](int iterations, const std::string& learning_rate) {
    const Told told = train("name: pupil\ntrain: [{options: " + options +
                                "}]\nevaluate: [{label: all, options: " + options +
                                "}]\nagent: {encoder: [16], lstm: 8, head: 12, value: 8}\n" +
                                "warm_start: {iterations: " + std::to_string(iterations) +
                                ", learning_rate: " + learning_rate +
                                "}\n"
                                "ppo: {iterations: 0, environments: 4, steps: 32, sequence: 8}\n",
                            "pupil" + std::to_string(iterations));
    const PolicyMeasure& measure = told.reports.back().evaluation.at(0);
    CHECK(measure.calls == 6);
    CHECK(measure.oracle_ratio >= 1);
    CHECK(measure.worst_cell >= measure.oracle_ratio);
    return measure.oracle_ratio;
  };
  const double learned = ratio(12, "0.01");
  const double untaught = ratio(1, "1e-9");
  INFO("x oracle " << untaught << " without learning, " << learned << " after 12 rollouts");
  CHECK(learned <= 1.05);
  CHECK(untaught > 1.1);
}

}  // namespace
}  // namespace cclgym
