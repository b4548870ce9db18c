// Compares PPO's losses and gradients with values derived by hand. All weights are zero except the
// biases of the last layers, so that for any observation the policy is the softmax of two numbers
// and the critic is one number plus its prior.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

const std::array<double, 2> kLogits{0.3, -0.5};
constexpr double kValue = 0.7;
constexpr double kPriorWeight = 0.5;

// Softmax probability of a level, by definition.
double probability(std::size_t level) {
  return std::exp(kLogits[level]) / (std::exp(kLogits[0]) + std::exp(kLogits[1]));
}

// d ln p(chosen) / d logit
double slope(std::size_t chosen, std::size_t logit) {
  return (chosen == logit ? 1.0 : 0.0) - probability(logit);
}

double entropy_nat() {
  double sum = 0;
  for (const std::size_t level : {0U, 1U}) {
    sum -= probability(level) * std::log(probability(level));
  }
  return sum;
}

// d entropy / d logit
double entropy_slope(std::size_t logit) {
  return -probability(logit) * (std::log(probability(logit)) + entropy_nat());
}

PolicyWeights two_levels() {
  const PolicyShape shape{
      .observations = 1, .encoder = {1}, .lstm = 0, .head = 1, .value = 1, .levels = {2}};
  Random random(1);
  PolicyWeights weights = initial_policy_weights(shape, random);
  for (PolicyTensor& tensor : weights.tensors) {
    std::ranges::fill(tensor.values, 0.0F);
    if (tensor.name == "head.0.out.bias") {
      tensor.values = {static_cast<float>(kLogits[0]), static_cast<float>(kLogits[1])};
    }
    if (tensor.name == "value.out.bias") tensor.values = {static_cast<float>(kValue)};
    if (tensor.name == "value.prior") tensor.values = {static_cast<float>(kPriorWeight)};
  }
  return weights;
}

// One call: the chosen level, the ratio of its current probability to its probability when it was
// chosen, and the result.
struct Row {
  std::size_t level = 0;
  double ratio = 1;
  double advantage = 0;
  double prior = 0;
  double target = 0;
};

SequenceBatch batch_of(const std::vector<Row>& rows) {
  SequenceBatch batch;
  batch.sequences = rows.size();
  batch.steps = 1;
  for (const Row& row : rows) {
    batch.observations.push_back(0.25F);
    batch.masks.insert(batch.masks.end(), {1, 1});
    batch.levels.push_back(static_cast<std::int32_t>(row.level));
    batch.starts.push_back(1);
    batch.log_probability.push_back(
        static_cast<float>(std::log(probability(row.level)) - std::log(row.ratio)));
    batch.prior.push_back(static_cast<float>(row.prior));
    batch.advantage.push_back(static_cast<float>(row.advantage));
    batch.target.push_back(static_cast<float>(row.target));
  }
  return batch;
}

// Expected gradients by tensor. The gradients of all other tensors must be zero.
struct Expected {
  std::array<double, 2> logits{};
  double value = 0;
  double prior_weight = 0;
};

void check_gradient(const PolicyWeights& weights, const PolicyGradient& gradient,
                    const Expected& expected) {
  for (std::size_t i = 0; i < weights.tensors.size(); ++i) {
    const std::string& name = weights.tensors[i].name;
    for (std::size_t j = 0; j < gradient.gradients[i].size(); ++j) {
      double wanted = 0;
      if (name == "head.0.out.bias") wanted = expected.logits[j];
      if (name == "value.out.bias") wanted = expected.value;
      if (name == "value.prior") wanted = expected.prior_weight;
      INFO(name << " " << j);
      CHECK(gradient.gradients[i][j] == Approx(wanted).margin(2e-6).epsilon(1e-5));
    }
  }
}

// A single call with its objective and the factor of d ln p(chosen) in the gradient of the loss.
struct ClippedCase {
  double ratio;
  double advantage;
  double objective;
  double factor;
  double clipped;
};
// Equation 7 with clip 0.2: the min of ratio x advantage and clamp(ratio, 0.8, 1.2) x advantage.
// Where the second is smaller, the gradient is zero.
const std::vector<ClippedCase> kClippedCases{
    {.ratio = 1.5, .advantage = 1, .objective = 1.2, .factor = 0, .clipped = 1},
    {.ratio = 1.5, .advantage = -1, .objective = -1.5, .factor = 1.5, .clipped = 1},
    {.ratio = 0.5, .advantage = 1, .objective = 0.5, .factor = -0.5, .clipped = 1},
    {.ratio = 0.5, .advantage = -1, .objective = -0.8, .factor = 0, .clipped = 1},
    {.ratio = 1.1, .advantage = 2, .objective = 2.2, .factor = -2.2, .clipped = 0},
    {.ratio = 1.1, .advantage = -2, .objective = -2.2, .factor = 2.2, .clipped = 0},
    {.ratio = 0.9, .advantage = 2, .objective = 1.8, .factor = -1.8, .clipped = 0},
};

TEST_CASE("PPO's objective and its gradient on single calls, by hand", "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyWeights weights = two_levels();
  for (const ClippedCase& one : kClippedCases) {
    for (const std::size_t level : {0U, 1U}) {
      INFO("ratio " << one.ratio << ", advantage " << one.advantage << ", level " << level);
      const SequenceBatch batch =
          batch_of({{.level = level, .ratio = one.ratio, .advantage = one.advantage}});
      const PolicyGradient gradient =
          policy_gradient(weights, batch, {.clip = 0.2, .entropy = 0, .value_weight = 0}, 1);
      CHECK(gradient.statistics.policy == Approx(-one.objective).epsilon(1e-5));
      CHECK(gradient.statistics.clipped == one.clipped);
      CHECK(gradient.statistics.divergence ==
            Approx(one.ratio - 1 - std::log(one.ratio)).margin(1e-6));
      check_gradient(weights, gradient,
                     {.logits = {one.factor * slope(level, 0), one.factor * slope(level, 1)}});
    }
  }
}

TEST_CASE("A batch's loss is the mean of its calls', and a wider clip lets more through",
          "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyWeights weights = two_levels();
  std::vector<Row> rows;
  double objective = 0;
  Expected expected;
  for (std::size_t i = 0; i < kClippedCases.size(); ++i) {
    rows.push_back(
        {.level = i % 2, .ratio = kClippedCases[i].ratio, .advantage = kClippedCases[i].advantage});
    const double share = 1.0 / static_cast<double>(kClippedCases.size());
    objective += share * kClippedCases[i].objective;
    for (const std::size_t k : {0U, 1U}) {
      expected.logits[k] += share * kClippedCases[i].factor * slope(i % 2, k);
    }
  }
  const PolicyGradient all =
      policy_gradient(weights, batch_of(rows), {.clip = 0.2, .entropy = 0, .value_weight = 0}, 1);
  CHECK(all.statistics.policy == Approx(-objective).epsilon(1e-5));
  CHECK(all.statistics.clipped == Approx(4.0 / 7));
  check_gradient(weights, all, expected);

  const SequenceBatch beyond = batch_of({{.level = 0, .ratio = 1.5, .advantage = 1}});
  const PolicyGradient wide =
      policy_gradient(weights, beyond, {.clip = 0.6, .entropy = 0, .value_weight = 0}, 1);
  CHECK(wide.statistics.policy == Approx(-1.5).epsilon(1e-5));
  CHECK(wide.statistics.clipped == 0);
  check_gradient(weights, wide, {.logits = {-1.5 * slope(0, 0), -1.5 * slope(0, 1)}});
}

TEST_CASE("The entropy bonus is taken off the loss, so that a step makes choices more alike",
          "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  PolicyWeights weights = two_levels();
  const SequenceBatch batch = batch_of({{.level = 0}, {.level = 1}});
  const LossOptions options{.clip = 0.2, .entropy = 0.25, .value_weight = 0};
  PolicyGradient gradient = policy_gradient(weights, batch, options, 1);
  CHECK(gradient.statistics.entropy == Approx(entropy_nat()).epsilon(1e-5));
  check_gradient(weights, gradient,
                 {.logits = {-0.25 * entropy_slope(0), -0.25 * entropy_slope(1)}});
  AdamState state = initial_adam_state(weights);
  (void)adam_step(weights, state, gradient, 0.1, 1e9);
  const double after = policy_gradient(weights, batch, options, 1).statistics.entropy;
  CHECK(after > entropy_nat() + 1e-3);
}

TEST_CASE("The critic's loss is its squared error, including the prior", "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyWeights weights = two_levels();
  const std::vector<Row> rows{{.prior = 0.4, .target = 1.5}, {.prior = -1, .target = 0}};
  double loss = 0;
  Expected expected;
  for (const Row& row : rows) {
    const double error = kValue + kPriorWeight * row.prior - row.target;
    loss += error * error / 2;
    expected.value += 0.25 * error;  // weight 0.25 x 2 error / batch of 2
    expected.prior_weight += 0.25 * error * row.prior;
  }
  const PolicyGradient gradient = policy_gradient(
      weights, batch_of(rows), {.clip = 0.2, .entropy = 0, .value_weight = 0.25}, 1);
  CHECK(gradient.statistics.value == Approx(loss).epsilon(1e-5));
  check_gradient(weights, gradient, expected);
}

TEST_CASE("Cloning goes towards what the expert chose, and looks at no advantage",
          "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  PolicyWeights weights = two_levels();
  const LossOptions options{.clone = true, .clip = 0.2, .entropy = 0, .value_weight = 0};
  for (const std::size_t level : {0U, 1U}) {
    const SequenceBatch batch = batch_of({{.level = level, .ratio = 1.5, .advantage = -3}});
    PolicyGradient gradient = policy_gradient(weights, batch, options, 1);
    CHECK(gradient.statistics.policy == Approx(-std::log(probability(level))).epsilon(1e-5));
    check_gradient(weights, gradient, {.logits = {-slope(level, 0), -slope(level, 1)}});
    PolicyWeights after = weights;
    AdamState state = initial_adam_state(weights);
    (void)adam_step(after, state, gradient, 0.1, 1e9);
    CHECK(policy_outputs(after, batch).log_probability[0] > std::log(probability(level)));
  }
}

TEST_CASE("A choice with one legal level is certain and has no gradient", "[agents][ppo-loss]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyWeights weights = two_levels();
  SequenceBatch batch = batch_of({{.level = 0, .advantage = 2}});
  batch.masks = {1, 0};
  batch.log_probability = {0};
  const PolicyGradient gradient =
      policy_gradient(weights, batch, {.clip = 0.2, .entropy = 1, .value_weight = 0}, 1);
  CHECK(gradient.statistics.entropy == 0);
  CHECK(gradient.statistics.policy == Approx(-2));
  check_gradient(weights, gradient, {});
}

}  // namespace
}  // namespace cclgym
