#include "agents/network/dqn.hpp"

#include <algorithm>
#include <numeric>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/trainer.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

PolicyShape forgetful_shape() {
  PolicyShape shape = test::small_shape();
  shape.lstm = 0;
  return shape;
}

Rollout some_rollout(std::uint64_t seed) {
  Rollout rollout = test::random_rollout(forgetful_shape(), 2, 8, seed);
  Random random(seed + 1);
  for (std::size_t row = 0; row < rollout.rows(); ++row) {
    rollout.reward[row] = static_cast<float>(random.uniform(-1, 1));
  }
  rollout.done[3] = 1;  // truncated
  rollout.done[10] = rollout.terminated[10] = 1;
  return rollout;
}

std::vector<std::size_t> up_to(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

TEST_CASE("Transitions without a known end are not kept, and old ones make room", "[agents][dqn]") {
  const Rollout rollout = some_rollout(1);
  ReplayMemory memory(100, rollout.shape);
  memory.add(rollout);
  CHECK(memory.size() == 16 - 3);  // two last steps and a truncated one
  for (int i = 0; i < 9; ++i) memory.add(rollout);
  CHECK(memory.size() == 100);
  RolloutShape with_memory = rollout.shape;
  with_memory.lstm = 4;
  CHECK_THROWS_AS(ReplayMemory(10, with_memory), std::invalid_argument);
}

TEST_CASE("Targets are the best of the next head, and at the last one reward and what comes after",
          "[agents][dqn]") {
  const PolicyShape shape = forgetful_shape();
  const Rollout rollout = some_rollout(2);
  ReplayMemory memory(100, rollout.shape);
  memory.add(rollout);
  const auto online = std::make_shared<const PolicyNetwork>(test::random_weights(shape, 3));
  const auto frozen = std::make_shared<const PolicyNetwork>(test::random_weights(shape, 4));
  constexpr double kGamma = 0.5;
  const SequenceBatch batch = memory.batch(up_to(memory.size()), online, frozen, kGamma);
  const SequenceBatch without = memory.batch(up_to(memory.size()), online, frozen, 0);
  const std::size_t dimensions = shape.levels.size();
  std::size_t chained = 0;
  std::size_t row = 0;
  for (std::size_t i = 0; i < memory.size(); ++i, ++row) {
    while (row == 3 || row == 7) ++row;  // these rows are not kept
    CHECK(without.head_target[i * dimensions + dimensions - 1] == rollout.reward[row]);
    const float next = batch.head_target[i * dimensions + dimensions - 1] - rollout.reward[row];
    CHECK((next == 0) == (row == 10));
    // A head's target does not depend on gamma if a later head decides.
    const auto masks = std::span(batch.masks).subspan(i * rollout.shape.mask_size());
    if (std::count(masks.begin() + 5, masks.begin() + 9, 1) > 1) {
      ++chained;
      CHECK(batch.head_target[i * dimensions] == without.head_target[i * dimensions]);
      CHECK(batch.head_target[i * dimensions] != batch.head_target[i * dimensions + 2]);
    } else {
      CHECK(batch.head_target[i * dimensions + 1] == batch.head_target[i * dimensions + 2]);
    }
  }
  CHECK(chained > 3);
}

TEST_CASE(
    "The online network chooses among the next levels, the frozen one says what they are worth",
    "[agents][dqn]") {
  const PolicyShape shape = forgetful_shape();
  Rollout rollout = some_rollout(8);
  std::ranges::fill(rollout.masks, std::uint8_t{1});
  ReplayMemory memory(100, rollout.shape);
  memory.add(rollout);
  // All weights are zero except the first head's last biases, which are its Q values for any
  // observation.
  const auto network = [&](std::vector<float> first_head) {
    PolicyWeights weights = test::random_weights(shape, 9);
    for (PolicyTensor& tensor : weights.tensors) {
      std::ranges::fill(tensor.values, 0.0F);
      if (tensor.name == "head.0.out.bias") tensor.values = first_head;
    }
    return std::make_shared<const PolicyNetwork>(weights);
  };
  const auto online = network({0, 3, 1});
  const auto frozen = network({10, 20, 30});
  const SequenceBatch batch = memory.batch(up_to(memory.size()), online, frozen, 0.5);
  const std::size_t dimensions = shape.levels.size();
  std::size_t row = 0;
  for (std::size_t i = 0; i < memory.size(); ++i, ++row) {
    while (row == 3 || row == 7) ++row;  // these rows are not kept
    const double expected = static_cast<double>(rollout.reward[row]) + (row == 10 ? 0 : 0.5 * 20);
    CHECK(batch.head_target[i * dimensions + dimensions - 1] == Approx(expected));
  }
}

TEST_CASE("Gradients of Q values agree with differences of the loss", "[agents][dqn]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyShape shape = forgetful_shape();
  PolicyWeights weights = test::random_weights(shape, 5);
  ReplayMemory memory(100, some_rollout(6).shape);
  memory.add(some_rollout(6));
  const auto network = std::make_shared<const PolicyNetwork>(weights);
  const SequenceBatch batch = memory.batch(up_to(memory.size()), network, network, 0.9);
  const LossOptions options{.q_values = true};
  const PolicyGradient gradient = policy_gradient(weights, batch, options, 1);
  CHECK(policy_gradient(weights, batch, options, 2).gradients == gradient.gradients);
  Random random(7);
  for (std::size_t tensor = 0; tensor < weights.tensors.size(); ++tensor) {
    std::vector<float>& values = weights.tensors[tensor].values;
    const auto i =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(values.size()) - 1));
    const float kept = values[i];
    constexpr float kApart = 0.01F;
    values[i] = kept + kApart;
    const double above = policy_gradient(weights, batch, options, 1).statistics.policy;
    values[i] = kept - kApart;
    const double below = policy_gradient(weights, batch, options, 1).statistics.policy;
    values[i] = kept;
    INFO(weights.tensors[tensor].name << " " << i);
    CHECK(gradient.gradients[tensor][i] ==
          Approx((above - below) / (2 * static_cast<double>(kApart))).margin(2e-3).epsilon(0.05));
  }
}

TEST_CASE("DQN learns to choose well, with the same bits for any number of threads",
          "[agents][dqn]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const auto config_of = [](int iterations) {
    return read_train_config(
        "name: small\n"
        "train:\n"
        "  - options: &small\n"
        "      fabric: ndv4\n"
        "      workload: {name: sweep, sizes: 1KiB..1MiB x4}\n"
        "      actions: stock-nccl\n"
        "      oracle: true\n"
        "evaluate: [{label: all, options: *small, calls: 60}]\n"
        "agent: {encoder: [24], lstm: 0, head: 16, value: 4}\n"
        "algorithm: dqn\n"
        "ppo: {iterations: " +
            std::to_string(iterations) +
            ", environments: 4, steps: 64, learning_rate: 0.005}\n"
            "dqn: {batch: 128, updates: 24}\nevaluate_every: 1\n",
        "small.yaml");
  };
  const TrainConfig config = config_of(30);
  CHECK(config.warm_start.iterations == 0);
  std::vector<double> ratios;
  TrainerOptions options;
  options.report = [&](const IterationReport& report) {
    ratios.push_back(report.evaluation.at(0).oracle_ratio);
    return true;
  };
  (void)train_agent(config, 1, folder.path() + "/learned", options);
  REQUIRE(ratios.size() == 30);
  INFO(ratios.front() << " " << ratios.back());
  CHECK(ratios.back() < 1.1);
  CHECK(ratios.back() - 1 < (ratios.front() - 1) / 2);
  const Checkpoint one = train_agent(config_of(5), 1, folder.path() + "/a", {.threads = 1});
  const Checkpoint two = train_agent(config_of(5), 1, folder.path() + "/b", {.threads = 2});
  CHECK(one.weights == two.weights);
}

TEST_CASE("A replay memory is read back from its bytes", "[agents][dqn]") {
  PolicyShape shape = test::small_shape();
  shape.lstm = 0;
  Rollout rollout = test::random_rollout(shape, 3, 20, 7);
  for (std::size_t row = 0; row < rollout.rows(); row += 9) rollout.done[row] = 1;
  for (std::size_t row = 0; row < rollout.rows(); row += 18) rollout.terminated[row] = 1;
  ReplayMemory memory(40, rollout.shape);
  for (const int rollouts : {0, 1, 2}) {  // empty, half full, around the end
    ReplayMemory copy(40, rollout.shape);
    const std::string bytes = memory.bytes();
    REQUIRE(copy.restore(bytes));
    CHECK(copy.size() == memory.size());
    CHECK((copy.bytes() == bytes));
    // Both go on in the same way.
    memory.add(rollout);
    copy.add(rollout);
    CHECK((copy.bytes() == memory.bytes()));
    CHECK((rollouts == 0) == (bytes.size() < 100));
  }
  const std::string bytes = memory.bytes();
  ReplayMemory small(39, rollout.shape);
  CHECK_FALSE(small.restore(bytes));
  CHECK(small.size() == 0);
  CHECK_FALSE(memory.restore(bytes.substr(1)));
  CHECK_FALSE(memory.restore(""));
  RolloutShape other = rollout.shape;
  other.levels.back() -= 1;
  ReplayMemory fewer(40, other);
  CHECK_FALSE(fewer.restore(bytes));
}

TEST_CASE("A DQN training that is interrupted ends with the same weights", "[agents][dqn]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig config = read_train_config(
      "name: counter\n"
      "train: [{environment: Counter-v0, options: {target: 12}}]\n"
      "agent: {encoder: [16], lstm: 0, head: 12, value: 4}\nalgorithm: dqn\n"
      "ppo: {iterations: 9, environments: 4, steps: 16}\n"
      "dqn: {replay: 200, batch: 32, updates: 6}\ncheckpoint_every: 2\n",
      "counter.yaml");
  const Checkpoint one = train_agent(config, 1, folder.path() + "/a", {});
  CHECK(one.replay.empty());
  for (const int last : {1, 3, 6}) {
    const Checkpoint stopped = train_agent(
        config, 1, folder.path() + "/b",
        {.report = [&](const IterationReport& report) { return report.iteration < last; }});
    CHECK(stopped.iteration == static_cast<std::uint64_t>(last));
    CHECK_FALSE(stopped.replay.empty());
  }
  CHECK(train_agent(config, 1, folder.path() + "/b", {}) == one);
  CHECK(load_checkpoint(checkpoint_path(folder.path() + "/b", 1)) == one);
}

TEST_CASE("Options that dqn cannot have are reported with their location", "[agents][dqn]") {
  const auto fault_of = [](const std::string& rest) {
    try {
      (void)read_train_config(
          "name: t\ntrain: [{options: {fabric: dgx1, actions: stock-nccl}}]\n" + rest, "t.yaml");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(fault_of("agent: {lstm: 0}\nalgorithm: dqn\n").empty());
  CHECK(fault_of("algorithm: dqn\n").starts_with("t.yaml:3:12: "));
  CHECK(fault_of("agent: {lstm: 0}\nwarm_start: {iterations: 3}\nalgorithm: dqn\n")
            .starts_with("t.yaml:4:13: "));
  CHECK(fault_of("algorithm: dqm\n").find("dqn") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
