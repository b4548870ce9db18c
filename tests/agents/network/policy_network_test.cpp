#include "agents/network/policy_network.hpp"

#include <array>
#include <cmath>
#include <functional>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/learned_policy.hpp"
#include "agents/training/training_environment.hpp"
#include "core/error.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

// Masks of a row of a rollout, for any prefix.
class RowMasks : public ConditionalMasks {
 public:
  RowMasks(const Rollout& rollout, std::size_t row) : rollout_(rollout), row_(row) {}
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override {
    std::size_t offset = row_ * rollout_.shape.mask_size();
    for (std::size_t d = 0; d < prefix.size(); ++d) offset += rollout_.shape.levels[d];
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rollout_.masks[offset + i];
  }

 private:
  const Rollout& rollout_;
  std::size_t row_;
};

TEST_CASE("The network in plain loops and in LibTorch agree", "[agents][policy-network]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyShape whole = test::small_shape();
  PolicyShape no_memory = whole;
  no_memory.lstm = 0;
  for (const PolicyShape& shape : {whole, no_memory}) {
    const PolicyWeights weights = test::random_weights(shape, 2);
    constexpr std::size_t kSteps = 40;
    Rollout rollout = test::random_rollout(shape, 1, kSteps, 3);
    std::fill_n(rollout.states.begin(), 2 * shape.lstm, 0.0F);
    const std::vector<std::size_t> all{0};
    const PolicyOutputs expected = policy_outputs(weights, gather_sequences(rollout, kSteps, all));
    PolicyRunner runner(std::make_shared<const PolicyNetwork>(weights));
    for (std::size_t row = 0; row < kSteps; ++row) {
      if (rollout.starts[row] != 0) runner.start();
      runner.observe(std::span(rollout.observations).subspan(row * 5, 5));
      const double log_probability = runner.log_probability(
          RowMasks(rollout, row), std::span(rollout.levels).subspan(row * 3, 3), {});
      CHECK(log_probability == Approx(expected.log_probability[row]).margin(1e-5).epsilon(1e-5));
      CHECK(runner.value(rollout.prior[row]) ==
            Approx(expected.value[row]).margin(1e-5).epsilon(1e-5));
    }
  }
}

TEST_CASE("Probabilities of all legal actions of CollectiveTuning-v0 sum to one",
          "[agents][policy-network]") {
  const TrainingEnvironment where(
      "CollectiveTuning-v0", parse_yaml("{fabric: {name: ring, gpus: 4}, actions: nccl-2.30}", "t"),
      {});
  const PolicyShape shape = where.network_shape({});
  PolicyRunner runner(std::make_shared<const PolicyNetwork>(test::random_weights(shape, 4)));
  const auto environment = where.make();
  OwnedBuffers buffers(environment->spec());
  environment->reset(1, buffers.view());
  runner.observe(buffers.observation);
  const EnvironmentMasks masks(*environment, buffers.action_mask);
  const auto actions = where.setup()->actions->legal_actions(CollectiveKind::AllReduce);
  const std::size_t knobs = shape.levels.size();
  REQUIRE(actions.size() > 10 * knobs);
  double sum = 0;
  double best = -1e9;
  for (std::size_t i = 0; i < actions.size(); i += knobs) {
    const double log_probability = runner.log_probability(masks, actions.subspan(i, knobs), {});
    sum += std::exp(log_probability);
    best = std::max(best, log_probability);
  }
  CHECK(sum == Approx(1).epsilon(1e-5));

  Random random(5);
  std::vector<std::int32_t> drawn(knobs);
  for (int i = 0; i < 200; ++i) {
    const double log_probability = runner.choose(masks, &random, drawn, {});
    CHECK(where.setup()->actions->legal(CollectiveKind::AllReduce, drawn));
    CHECK(log_probability == Approx(runner.log_probability(masks, drawn, {})));
    CHECK(log_probability <= best + 1e-9);
  }
}

TEST_CASE("Draws follow the probabilities", "[agents][policy-network]") {
  const PolicyShape shape{
      .observations = 1, .encoder = {2}, .lstm = 0, .head = 2, .value = 1, .levels = {3}};
  PolicyRunner runner(std::make_shared<const PolicyNetwork>(test::random_weights(shape, 6)));
  const Rollout rollout = [&] {
    Rollout all(
        RolloutShape{.environments = 1, .steps = 1, .observations = 1, .lstm = 0, .levels = {3}});
    all.masks = {1, 0, 1};
    return all;
  }();
  runner.observe(std::vector<float>{0.3F});
  const RowMasks masks(rollout, 0);
  Random random(7);
  constexpr int kDraws = 20'000;
  std::array<int, 3> counts{};
  std::vector<std::int32_t> drawn(1);
  for (int i = 0; i < kDraws; ++i) {
    (void)runner.choose(masks, &random, drawn, {});
    ++counts[static_cast<std::size_t>(drawn[0])];
  }
  CHECK(counts[1] == 0);
  for (const std::int32_t level : {0, 2}) {
    const double p = std::exp(runner.log_probability(masks, std::vector<std::int32_t>{level}, {}));
    // Five standard deviations.
    CHECK(std::abs(counts[static_cast<std::size_t>(level)] - kDraws * p) <
          5 * std::sqrt(kDraws * p * (1 - p)));
  }
  const std::int32_t likeliest = counts[0] > counts[2] ? 0 : 2;
  (void)runner.choose(masks, nullptr, drawn, {});
  CHECK(drawn[0] == likeliest);
}

TEST_CASE("A mask without a level is an error", "[agents][policy-network]") {
  const PolicyShape shape = test::small_shape();
  PolicyRunner runner(std::make_shared<const PolicyNetwork>(test::random_weights(shape, 8)));
  Rollout rollout = test::random_rollout(shape, 1, 1, 9);
  std::ranges::fill(rollout.masks, std::uint8_t{0});
  std::vector<std::int32_t> levels(3);
  runner.observe(rollout.observations);
  CHECK_THROWS_AS(runner.choose(RowMasks(rollout, 0), nullptr, levels, {}), InvalidMask);
}

TEST_CASE("Faults of weights are named", "[agents][policy-network]") {
  const PolicyWeights good = test::random_weights(test::small_shape(), 10);
  CHECK(policy_weights_fault(good).empty());
  const auto fault = [&](const std::function<void(PolicyWeights&)>& damage) {
    PolicyWeights weights = good;
    damage(weights);
    CHECK_THROWS_AS(PolicyNetwork(weights), std::invalid_argument);
    return policy_weights_fault(weights);
  };
  CHECK(fault([](auto& w) { w.tensors[0].values[3] = NAN; }) ==
        "tensor 'encoder.0.weight' has a number that is not finite");
  CHECK(fault([](auto& w) { w.tensors[1].values.pop_back(); }) ==
        "tensor 'encoder.0.bias' has 6 numbers, expected 7");
  CHECK(fault([](auto& w) { w.tensors.pop_back(); }).find("tensors, expected") !=
        std::string::npos);
  CHECK(fault([](auto& w) { w.tensors[2].name = "x"; }) ==
        "tensor 2 is 'x', expected 'encoder.1.weight'");
  CHECK(fault([](auto& w) { w.input_scale[0] = INFINITY; }) ==
        "its normalisation has a number that is not finite");
  CHECK(!fault([](auto& w) { w.shape.levels.clear(); }).empty());
}

TEST_CASE("A policy refuses an environment that it was not trained for",
          "[agents][policy-network]") {
  LearnedPolicy policy(test::random_weights(test::small_shape(), 11));
  const auto environment = make_environment("Counter-v0");
  CHECK_THROWS_AS(policy.begin_episode(*environment, 1), UserError);
}

}  // namespace
}  // namespace cclgym
