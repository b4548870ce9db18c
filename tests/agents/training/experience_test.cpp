// Budgets of exploration, and learning from an agent's own trials.
#include "agents/experts/experience.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "agents/network/policy_gradient.hpp"
#include "agents/training/trainer.hpp"
#include "core/error.hpp"
#include "env/tuning/size_class.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

const std::vector<std::size_t> kSizes{4, 3, 5};
const Call kCall{.collective = CollectiveKind::AllReduce, .bytes = 1 << 20};

// All levels are legal, except the last one of the first dimension.
class Free : public ConditionalMasks {
 public:
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override {
    std::ranges::fill(out, std::uint8_t{1});
    if (prefix.empty()) out.back() = 0;
  }
};

// Environments side by side that explore one class and learn at the end of each round.
struct Explorers {
  Experience experience;
  std::size_t slots = 4;
  double weight = 1;
  std::vector<std::vector<std::int32_t>> actions{};  ///< actions of the last round

  // Returns the number of calls that were explored.
  template <class Reward>
  int round(int calls, Random& random, const Reward& reward) {
    std::vector<Experience::Notes> notes(slots);
    std::vector<std::int32_t> levels(kSizes.size());
    int explored = 0;
    actions.clear();
    for (Experience::Notes& own : notes) {
      for (int i = 0; i < calls; ++i) {
        if (!experience.propose(kCall, Free(), own, slots, weight, random, levels)) continue;
        ++explored;
        actions.push_back(levels);
        own.add({.call_class = static_cast<std::uint32_t>(size_class(kCall)),
                 .action = experience.code(levels),
                 .reward = reward(levels),
                 .explored = true});
      }
    }
    experience.merge(notes);
    return explored;
  }
};

double no_reward(const std::vector<std::int32_t>& /*levels*/) { return 0; }

// Best at {1, 2, 3}; algorithm 0 is far behind.
double peaked(const std::vector<std::int32_t>& levels) {
  const double behind = levels[0] == 0 ? 5.0 : 0.0;
  return -behind - std::abs(levels[0] - 1) - 0.3 * std::abs(levels[1] - 2) -
         0.1 * std::abs(levels[2] - 3);
}

TEST_CASE("a class is explored at most as often as its cap, by all environments together",
          "[agents][experience]") {
  for (const std::size_t slots : std::array<std::size_t, 3>{1, 3, 8}) {
    Explorers one{Experience(kSizes, {.samples = 0, .cap = 50}), slots};
    Random random(1);
    int explored = 0;
    for (int i = 0; i < 20; ++i) {
      explored += one.round(7, random, no_reward);
      CHECK(explored == one.experience.explored(kCall));
      CHECK(explored <= 50);
    }
    CHECK(explored > 50 - static_cast<int>(slots));
  }
}

TEST_CASE("each algorithm gets its samples, before exploration narrows to the contenders",
          "[agents][experience]") {
  Explorers one{Experience(kSizes, {.samples = 20, .contenders = 1.5, .rule = false}), 1};
  Random random(2);
  for (int i = 0; i < 5; ++i) {
    one.round(12, random, peaked);
    for (std::int32_t level = 0; level < 3; ++level) {
      CHECK(one.experience.samples(kCall, level) <= 20);
    }
  }
  CHECK(one.experience.explored(kCall) == 60);
  for (std::int32_t level = 0; level < 3; ++level)
    CHECK(one.experience.samples(kCall, level) == 20);
  CHECK(one.experience.samples(kCall, 3) == 0);  // not legal
  one.round(50, random, peaked);
  std::set<std::int32_t> tried;
  for (const auto& levels : one.actions) tried.insert(levels[0]);
  CHECK(tried == std::set<std::int32_t>{1, 2});
  CHECK(one.experience.best(kCall) == std::vector<std::int32_t>{1, 2, 3});
  // Half the weight is half the samples.
  Explorers half{Experience(kSizes, {.samples = 20, .rule = false}), 1, 0.5};
  half.round(30, random, peaked);
  for (std::int32_t level = 0; level < 3; ++level) {
    CHECK(half.experience.samples(kCall, level) == 10);
  }
}

TEST_CASE("the prior reduces the samples of what it thinks slow, to a fifth; the rule goes first",
          "[agents][experience]") {
  const auto level = [](const Call& /*call*/, std::int32_t one) {
    return one == 0 ? 0.0 : one == 1 ? -0.5 * std::log(2.0) : -9.0;
  };
  const auto rule = [](const Call& /*call*/) {
    return std::optional(std::vector<std::int32_t>{2, 1, 4});
  };
  Explorers one{Experience(kSizes, {.samples = 20, .prior = 0.5}, {.level = level, .rule = rule}),
                1};
  Random random(3);
  one.round(34, random, no_reward);
  CHECK(one.actions.front() == std::vector<std::int32_t>{2, 1, 4});
  CHECK(one.experience.samples(kCall, 0) == 20);
  CHECK(one.experience.samples(kCall, 1) == 10);
  CHECK(one.experience.samples(kCall, 2) == 4);
}

TEST_CASE("the best action is that of the best mean, less its standard error under noise",
          "[agents][experience]") {
  Experience experience(kSizes, {});
  const auto add = [&](std::vector<std::int32_t> levels, const std::vector<double>& rewards) {
    Experience::Notes notes;
    for (const double reward : rewards) {
      notes.add({.call_class = static_cast<std::uint32_t>(size_class(kCall)),
                 .action = experience.code(levels),
                 .reward = reward});
    }
    experience.merge(std::span(&notes, 1));
  };
  CHECK_FALSE(experience.best(kCall));
  add({0, 0, 0}, {1});
  add({1, 1, 1}, {1.2});
  CHECK(experience.best(kCall) == std::vector<std::int32_t>{1, 1, 1});
  // The deviation within actions is 0.4: one trial of 1.2 counts 0.8, 16 trials of 1 count 0.9.
  std::vector<double> many;
  for (int i = 0; i < 8; ++i) many.insert(many.end(), {0.6, 1.4});
  many.pop_back();
  add({0, 0, 0}, many);
  CHECK(experience.best(kCall) == std::vector<std::int32_t>{0, 0, 0});
  CHECK_FALSE(experience.best({.collective = CollectiveKind::AllGather, .bytes = 1 << 20}));
  // Trials that were not explored do not use the budget.
  CHECK(experience.explored(kCall) == 0);

  Experience copy(kSizes, {});
  CHECK(copy.restore(experience.bytes()));
  CHECK(copy.bytes() == experience.bytes());
  CHECK(copy.best(kCall) == experience.best(kCall));
  const std::string bytes = experience.bytes();
  for (std::size_t length = 0; length < bytes.size(); length += 3) {
    CHECK_FALSE(copy.restore(std::string_view(bytes).substr(0, length)));
  }
  CHECK(copy.bytes() == bytes);
  CHECK_FALSE(Experience({2, 2, 2}, {}).restore(bytes));
}

std::string training(const std::string& rest) {
  return "name: t\n"
         "train: [{options: &o {fabric: {name: ring, gpus: 4}, workload: {name: sweep, "
         "collectives: [allreduce, allgather], sizes: 1KiB..64MiB x4}, actions: stock-nccl, "
         "episode: 32}}]\n"
         "evaluate: [{label: all, options: {<<: *o, oracle: true}}]\n"
         "agent: {encoder: [16], lstm: 0, head: 8}\nevaluate_every: 0\n" +
         rest;
}

Checkpoint trained(const std::string& text, double& ratio, int stop = 0) {
  const test::TemporaryFolder folder;
  const TrainConfig config = read_train_config(text, "t.yaml");
  TrainerOptions options;
  options.report = [&](const IterationReport& report) {
    if (!report.evaluation.empty()) ratio = report.evaluation.front().oracle_ratio;
    return report.iteration != stop;
  };
  Checkpoint end = train_agent(config, 1, folder.path(), options);
  if (stop > 0) end = train_agent(config, 1, folder.path(), {});
  return end;
}

TEST_CASE("An agent that imitates its own best trials comes near the oracle without seeing it",
          "[agents][experience]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string text = training(
      "warm_start: {expert: experience, iterations: 40}\nbudget: {samples: 20, cap: 200}\n"
      "ppo: {iterations: 0, environments: 4, steps: 64}\ncheckpoint_every: 7\n");
  double ratio = 0;
  const Checkpoint whole = trained(text, ratio);
  CHECK(ratio < 1.05);
  // Its state is part of checkpoints.
  CHECK(trained(text, ratio, 14) == whole);
}

TEST_CASE("DQN explores within a budget", "[agents][experience]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::string plain =
      "algorithm: dqn\nwarm_start: {iterations: 0}\ncheckpoint_every: 3\n"
      "ppo: {iterations: 6, environments: 4, steps: 32}\ndqn: {batch: 32, updates: 8}\n";
  double ratio = 0;
  const Checkpoint free = trained(training(plain), ratio);
  const std::string text = training(plain + "budget: {samples: 2, cap: 8}\n");
  const Checkpoint whole = trained(text, ratio);
  CHECK_FALSE(whole.weights == free.weights);
  CHECK(trained(text, ratio, 3) == whole);
  CHECK_THROWS_AS(read_train_config(training("budget: {samples: 2}\n"), "t.yaml"), UserError);
}

}  // namespace
}  // namespace cclgym
