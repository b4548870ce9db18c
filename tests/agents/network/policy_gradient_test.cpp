#include "agents/network/policy_gradient.hpp"

#include <cmath>
#include <numeric>

#include "agents/agents_testing.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

struct Case {
  PolicyWeights weights;
  SequenceBatch batch;
};

Case make_case() {
  const PolicyShape shape = test::small_shape();
  Case made{.weights = test::random_weights(shape, 20), .batch = {}};
  const Rollout rollout = test::random_rollout(shape, 4, 6, 21);
  std::vector<std::size_t> all(8);
  std::iota(all.begin(), all.end(), std::size_t{0});
  made.batch = gather_sequences(rollout, 3, all);
  // Ratios near 1, some of them outside the clip range.
  const PolicyOutputs outputs = policy_outputs(made.weights, made.batch);
  Random random(22);
  for (std::size_t i = 0; i < outputs.log_probability.size(); ++i) {
    made.batch.log_probability[i] =
        outputs.log_probability[i] + static_cast<float>(random.uniform(-0.4, 0.4));
  }
  return made;
}

double loss_of(const PolicyWeights& weights, const SequenceBatch& batch, const LossOptions& options,
               LossStatistics& statistics) {
  statistics = policy_gradient(weights, batch, options, 1).statistics;
  return statistics.policy - options.entropy * statistics.entropy +
         options.value_weight * statistics.value;
}

TEST_CASE("Gradients agree with differences of the loss", "[agents][policy-gradient]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  Case made = make_case();
  for (const bool clone : {false, true}) {
    const LossOptions options{.clone = clone, .clip = 0.2, .entropy = 0.1, .value_weight = 0.5};
    const PolicyGradient gradient = policy_gradient(made.weights, made.batch, options, 1);
    Random random(23);
    for (std::size_t tensor = 0; tensor < made.weights.tensors.size(); ++tensor) {
      std::vector<float>& values = made.weights.tensors[tensor].values;
      const auto last = static_cast<std::int64_t>(values.size()) - 1;
      const auto i = static_cast<std::size_t>(random.integer(0, last));
      const float kept = values[i];
      constexpr float kApart = 0.01F;
      LossStatistics statistics;
      values[i] = kept + kApart;
      const double above = loss_of(made.weights, made.batch, options, statistics);
      values[i] = kept - kApart;
      const double below = loss_of(made.weights, made.batch, options, statistics);
      values[i] = kept;
      INFO(made.weights.tensors[tensor].name << " " << i);
      CHECK(gradient.gradients[tensor][i] ==
            Approx((above - below) / (2 * static_cast<double>(kApart))).margin(2e-3).epsilon(0.05));
    }
  }
}

TEST_CASE("Gradients have the same bits for any number of threads", "[agents][policy-gradient]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const Case made = make_case();
  const PolicyGradient one = policy_gradient(made.weights, made.batch, {}, 1);
  const PolicyGradient two = policy_gradient(made.weights, made.batch, {}, 2);
  CHECK(one.gradients == two.gradients);
  CHECK(one.statistics.policy == two.statistics.policy);
}

TEST_CASE("Adam's first step is the learning rate against the gradient's sign",
          "[agents][policy-gradient]") {
  PolicyWeights weights = test::random_weights(test::small_shape(), 24);
  const PolicyWeights before = weights;
  AdamState state = initial_adam_state(weights);
  PolicyGradient gradient;
  for (const PolicyTensor& tensor : weights.tensors) {
    gradient.gradients.emplace_back(tensor.values.size(), -0.25F);
  }
  const double norm = adam_step(weights, state, gradient, 0.01, 1e9);
  std::size_t count = 0;
  for (std::size_t i = 0; i < weights.tensors.size(); ++i) {
    for (std::size_t j = 0; j < weights.tensors[i].values.size(); ++j) {
      CHECK(weights.tensors[i].values[j] - before.tensors[i].values[j] ==
            Approx(0.01).epsilon(1e-3));
      ++count;
    }
  }
  CHECK(norm == Approx(0.25 * std::sqrt(static_cast<double>(count))));
  CHECK(state.steps == 1);
  gradient.gradients[0][0] = NAN;
  CHECK_THROWS_AS(adam_step(weights, state, gradient, 0.01, 1), std::runtime_error);
}

}  // namespace
}  // namespace cclgym
