#include "agents/training/exploration.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/collect.hpp"
#include "agents/training/train_config.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

TrainConfig training(const std::string& environment, const std::string& ppo) {
  return read_train_config("name: t\ntrain: [{options: " + environment + "}]\nppo: {" + ppo + "}\n",
                           "t.yaml");
}

// Weights for the calls of one pass over a listed workload.
std::vector<double> weights_of(const TrainConfig& config) {
  CollectiveTuningEnv environment(config.parts[0].environment->setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(1, buffers.view());
  std::vector<double> weights;
  const std::vector<std::int32_t> action(environment.spec().action_space.size(), 0);
  for (std::size_t call = 0; call < environment.workload().calls().size(); ++call) {
    weights.push_back(exploration_weight(config.ppo.exploration, environment, config.ppo.entropy));
    environment.step(action, buffers.view());
  }
  return weights;
}

const char* const kSweep =
    "workload: {name: sweep, collectives: [allreduce, alltoall], sizes: [4KiB, 1MiB, 64MiB], "
    "order: listed}";

TEST_CASE("The first rule that matches a call gives its weight", "[agents][exploration]") {
  const std::string rules =
      "entropy: 0.5, exploration: [{collectives: alltoall, least: 1MiB, most: 1MiB, entropy: 1},"
      "{fabrics: dgx1, collectives: alltoall, entropy: 2}, {servers: several, entropy: 3},"
      "{shared: true, entropy: 4}, {most: 4KiB, entropy: 5}]";
  const std::string dgx1 = std::string("{fabric: dgx1, ") + kSweep + "}";
  CHECK(weights_of(training(dgx1, rules)) == std::vector<double>{5, 0.5, 0.5, 2, 1, 2});
  const std::string two = std::string("{fabric: {name: ndv4, servers: 2}, ") + kSweep + "}";
  CHECK(weights_of(training(two, rules)) == std::vector<double>{3, 3, 3, 3, 1, 3});
  CHECK(weights_of(training(dgx1, "entropy: 0.5")) == std::vector<double>(6, 0.5));
  CHECK(exploration_weight({}, *TrainingEnvironment("Counter-v0", {}, {}).make(), 7) == 7);
}

TEST_CASE("Mistakes in a rule are reported with their location", "[agents][exploration]") {
  const auto fault_of = [](const std::string& rule) {
    try {
      (void)training("{fabric: dgx1, actions: stock-nccl}", "exploration: [" + rule + "]");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(fault_of("{entropy: 1}").empty());
  CHECK(fault_of("{most: 4KiB}").find("entropy") != std::string::npos);
  CHECK(fault_of("{entropy: 1, fabrics: dgx}").find("dgx1") != std::string::npos);
  CHECK(fault_of("{entropy: 11}").starts_with("t.yaml:3:31: "));
  CHECK(fault_of("{entropy: 1, least: 2KiB, most: 1KiB}").find("as large as least") !=
        std::string::npos);
  CHECK(fault_of("{entropi: 1}").find("entropy") != std::string::npos);
}

TEST_CASE("Rollouts and batches have weights where there are rules, and none without",
          "[agents][exploration]") {
  const std::string dgx1 = std::string("{fabric: dgx1, actions: stock-nccl, ") + kSweep + "}";
  const TrainConfig config = training(dgx1, "exploration: [{least: 64MiB, entropy: 2}]");
  Random random(3);
  const PolicyShape shape = config.parts[0].environment->network_shape(
      {.observations = 0, .encoder = {8}, .lstm = 4, .head = 4, .value = 4, .levels = {}});
  const auto network = std::make_shared<const PolicyNetwork>(initial_policy_weights(shape, random));
  Rollout rollout({.environments = 1,
                   .steps = 12,
                   .observations = shape.observations,
                   .lstm = shape.lstm,
                   .levels = shape.levels});
  std::vector<CollectSlot> slots;
  slots.push_back({.environment = config.parts[0].environment->make()});
  collect(network, slots, {.seed = 1, .exploration = config.ppo.exploration, .entropy = 0.25},
          rollout);
  REQUIRE(rollout.entropy.size() == 12);
  for (std::size_t row = 0; row < 12; ++row) {
    CHECK(rollout.entropy[row] == (row % 3 == 2 ? 2.0F : 0.25F));
  }
  const std::vector<std::size_t> second{1};
  CHECK(gather_sequences(rollout, 4, second).entropy ==
        std::vector<float>{0.25F, 2.0F, 0.25F, 0.25F});
  collect(network, slots, {.seed = 1}, rollout);
  CHECK(rollout.entropy.empty());
  CHECK(gather_sequences(rollout, 4, second).entropy.empty());
}

TEST_CASE("Equal weights are one weight, and gradients add up over weights",
          "[agents][exploration]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyShape shape = test::small_shape();
  const PolicyWeights weights = test::random_weights(shape, 90);
  std::vector<std::size_t> all(8);
  std::iota(all.begin(), all.end(), std::size_t{0});
  SequenceBatch batch = gather_sequences(test::random_rollout(shape, 4, 6, 91), 3, all);
  const auto gradient = [&](std::vector<float> entropy, double factor) {
    batch.entropy = std::move(entropy);
    const LossOptions options{.clone = false, .clip = 0.2, .entropy = factor, .value_weight = 0.5};
    std::vector<float> numbers;
    for (const auto& tensor : policy_gradient(weights, batch, options, 1).gradients) {
      numbers.insert(numbers.end(), tensor.begin(), tensor.end());
    }
    return numbers;
  };
  const std::size_t rows = batch.target.size();
  std::vector<float> first(rows, 0.0F);
  std::fill_n(first.begin(), rows / 2, 0.3F);
  std::vector<float> second(rows, 0.0F);
  std::fill(second.begin() + static_cast<std::ptrdiff_t>(rows / 2), second.end(), 0.3F);
  const auto one = gradient({}, 0.3);
  const auto equal = gradient(std::vector<float>(rows, 0.15F), 2);
  const auto none = gradient({}, 0);
  const auto half = gradient(first, 1);
  const auto other = gradient(second, 1);
  bool differ = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(equal[i] == Approx(one[i]).margin(1e-6));
    CHECK(half[i] + other[i] - none[i] == Approx(one[i]).margin(1e-6));
    differ = differ || std::abs(half[i] - other[i]) > 1e-4F;
  }
  CHECK(differ);
}

TEST_CASE("The papers' regimes in docs/agents.md are rules", "[agents][exploration]") {
  std::ifstream file(test::source_path("docs/agents.md"));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t from = page.find("\n  exploration:\n");
  REQUIRE(from != std::string::npos);
  const std::string rules = page.substr(from, page.find("```", from) - from);
  const auto weights = [&](const std::string& environment) {
    return weights_of(read_train_config(
        "name: t\ntrain: [{options: " + environment + "}]\nppo:\n  entropy: 0.003" + rules,
        "agents.md"));
  };
  // AllReduce of 4 KiB, 1 MiB and 64 MiB, then AllToAll of the same sizes.
  const std::string one = std::string("{fabric: ndv4, ") + kSweep + "}";
  CHECK(weights(one) == std::vector<double>{0.01, 0.003, 0.001, 0.01, 0.01, 0.01});
  const std::string several = std::string("{fabric: {name: ndv4, servers: 2}, ") + kSweep + "}";
  CHECK(weights(several) == std::vector<double>{0.01, 0.01, 0.01, 0.001, 0.01, 0.01});
}

}  // namespace
}  // namespace cclgym
