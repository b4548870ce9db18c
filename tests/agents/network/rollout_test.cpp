#include "agents/network/rollout.hpp"

#include <cmath>

#include "agents/agents_testing.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

Rollout line(std::size_t steps) {
  return Rollout({.environments = 1, .steps = steps, .observations = 1, .lstm = 0, .levels = {2}});
}

TEST_CASE("Advantages of a constant reward are a geometric sum", "[agents][rollout]") {
  constexpr std::size_t kSteps = 6;
  constexpr double kGamma = 0.9;
  constexpr double kLambda = 0.8;
  Rollout rollout = line(kSteps);
  for (float& reward : rollout.reward) reward = 1;
  rollout.done[kSteps - 1] = 1;
  estimate_advantages(rollout, kGamma, kLambda);
  for (std::size_t t = 0; t < kSteps; ++t) {
    // With delta = 1 everywhere, the expected sum is 1 + x + x^2 + … with x = gamma lambda.
    const double x = kGamma * kLambda;
    const double expected = (1 - std::pow(x, static_cast<double>(kSteps - t))) / (1 - x);
    CHECK(rollout.advantage[t] == Approx(expected).epsilon(1e-6));
    CHECK(rollout.target[t] == Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("With lambda 1 the target is the discounted return, cut off with the critic's value",
          "[agents][rollout]") {
  Rollout rollout = line(3);
  rollout.reward = {1, 2, 3};
  rollout.value = {10, 20, 30};
  rollout.next_value = {20, 30, 40};  // 40: estimate after the rollout
  estimate_advantages(rollout, 0.5, 1);
  const double expected = 1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 40;
  CHECK(rollout.target[0] == Approx(expected));
  CHECK(rollout.advantage[0] == Approx(expected - 10));
}

TEST_CASE("With lambda 0 the advantage is the critic's error of one step", "[agents][rollout]") {
  Rollout rollout = line(2);
  rollout.reward = {1, 2};
  rollout.value = {3, 5};
  rollout.next_value = {5, 7};
  estimate_advantages(rollout, 0.5, 0);
  CHECK(rollout.advantage[0] == Approx(1 + 0.5 * 5 - 3));
  CHECK(rollout.advantage[1] == Approx(2 + 0.5 * 7 - 5));
}

TEST_CASE("Nothing flows from one episode or environment to the one before", "[agents][rollout]") {
  Rollout rollout({.environments = 2, .steps = 2, .observations = 1, .lstm = 0, .levels = {2}});
  rollout.done = {1, 0, 0, 0};
  rollout.reward = {1, 100, 1000, 0};
  rollout.next_value = {0, 0, 0, 0};
  estimate_advantages(rollout, 0.9, 0.9);
  CHECK(rollout.advantage[0] == 1);
  CHECK(rollout.advantage[1] == 100);
  CHECK(rollout.advantage[2] == 1000);
}

TEST_CASE("Sequences are steps of one environment, with their initial state", "[agents][rollout]") {
  const PolicyShape shape = test::small_shape();
  const Rollout rollout = test::random_rollout(shape, 3, 6, 1);
  const std::vector<std::size_t> chosen{4, 1};  // steps 2 and 3 of environments 1 and 0
  const SequenceBatch batch = gather_sequences(rollout, 2, chosen);
  REQUIRE(batch.sequences == 2);
  REQUIRE(batch.steps == 2);
  const auto row_of = [&](std::size_t sequence, std::size_t t) {
    return (sequence == 0 ? 6 + 2 : 2) + t;
  };
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t u = 0; u < shape.lstm; ++u) {
      CHECK(batch.hidden[s * shape.lstm + u] == rollout.states[row_of(s, 0) * 2 * shape.lstm + u]);
      CHECK(batch.cell[s * shape.lstm + u] ==
            rollout.states[row_of(s, 0) * 2 * shape.lstm + shape.lstm + u]);
    }
    for (std::size_t t = 0; t < 2; ++t) {
      const std::size_t to = t * 2 + s;
      CHECK(batch.target[to] == rollout.target[row_of(s, t)]);
      CHECK(batch.starts[to] == static_cast<float>(rollout.starts[row_of(s, t)]));
      CHECK(batch.observations[to * 5 + 3] == rollout.observations[row_of(s, t) * 5 + 3]);
      CHECK(batch.levels[to * 3 + 2] == rollout.levels[row_of(s, t) * 3 + 2]);
      CHECK(batch.masks[to * 9 + 8] == rollout.masks[row_of(s, t) * 9 + 8]);
    }
  }
  CHECK_THROWS_AS(gather_sequences(rollout, 4, chosen), std::logic_error);
}

TEST_CASE("Normalised advantages have mean 0 and deviation 1; equal ones stay unchanged",
          "[agents][rollout]") {
  std::vector<float> advantages{1, 2, 3, 6};
  normalise(advantages);
  double sum = 0;
  double squares = 0;
  for (const float x : advantages) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  CHECK(std::abs(sum) < 1e-6);
  CHECK(squares / 4 == Approx(1));
  std::vector<float> equal{2, 2};
  normalise(equal);
  CHECK(equal == std::vector<float>{2, 2});
}

}  // namespace
}  // namespace cclgym
