// Tests of rollouts and of the critic's prior and its estimate after the end of an episode.
#include "agents/training/collect.hpp"

#include <algorithm>
#include <cmath>

#include "agents/agents_testing.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

// Episodes of four calls of 64 KiB.
TrainingEnvironment four_calls() {
  return {"CollectiveTuning-v0",
          parse_yaml("{fabric: ndv4, actions: stock-nccl, episode: 4, workload: "
                     "{name: sweep, sizes: [64KiB]}}",
                     "t"),
          {}};
}

Rollout play(const TrainingEnvironment& where, std::size_t steps, ValuePrior prior,
             std::shared_ptr<const PolicyNetwork>& network) {
  Random random(4);
  const PolicyShape shape = where.network_shape(
      {.observations = 0, .encoder = {8}, .lstm = 4, .head = 4, .value = 4, .levels = {}});
  network = std::make_shared<const PolicyNetwork>(initial_policy_weights(shape, random));
  Rollout rollout({.environments = 1,
                   .steps = steps,
                   .observations = shape.observations,
                   .lstm = shape.lstm,
                   .levels = shape.levels});
  std::vector<CollectSlot> slots;
  slots.push_back({.environment = where.make()});
  collect(network, slots, {.seed = 6, .prior = prior}, rollout);
  return rollout;
}

TEST_CASE("The critic uses its prior, and its initial estimate includes it", "[agents][collect]") {
  const TrainingEnvironment where = four_calls();
  // The prior documented at value_prior, for one AllReduce of 64 KiB on eight ranks.
  const FabricFeatures& fabric = where.setup()->fabric;
  const double chunk = 64.0 * 1024 / 8;
  const double ring_s = 14 * (fabric.alpha_s + chunk / fabric.rank_rate_Bps);
  const double best_s =
      2 * (fabric.diameter * fabric.alpha_s + fabric.inverse_bisection_s_per_B * chunk);
  const double prior = std::log(ring_s / best_s);
  REQUIRE(prior > 0.5);
  std::shared_ptr<const PolicyNetwork> network;
  const Rollout with = play(where, 8, ValuePrior::Bounds, network);
  const Rollout without = play(where, 8, ValuePrior::None, network);
  CHECK(with.observations == without.observations);
  for (std::size_t row = 0; row < with.rows(); ++row) {
    CHECK(with.prior[row] == Approx(prior));
    CHECK(without.prior[row] == 0);
    // The last layer starts with a hundredth of the other layers' weights.
    CHECK(with.value[row] - without.value[row] == Approx(prior).margin(0.1));
    CHECK(with.next_value[row] - without.next_value[row] == Approx(prior).margin(0.1));
  }
}

TEST_CASE("An episode that was cut off counts for what the critic expects after it",
          "[agents][collect]") {
  std::shared_ptr<const PolicyNetwork> network;
  const TrainingEnvironment where = four_calls();
  const Rollout rollout = play(where, 10, ValuePrior::Bounds, network);
  for (std::size_t row = 0; row < rollout.rows(); ++row) {
    const bool last = row % 4 == 3;
    CHECK((rollout.done[row] != 0) == last);
    CHECK(rollout.terminated[row] == 0);
    CHECK((rollout.starts[row] != 0) == (row % 4 == 0));
    // All calls are equal, so the critic's estimate after each of them is high.
    CHECK(rollout.next_value[row] > 0.5F);
    if (!last && row + 1 < rollout.rows()) {
      CHECK(rollout.next_value[row] == rollout.value[row + 1]);
    }
  }
}

TEST_CASE("After a terminated episode no estimate counts", "[agents][collect]") {
  const TrainingEnvironment where("Counter-v0", parse_yaml("{target: 3}", "t"), {});
  std::shared_ptr<const PolicyNetwork> network;
  const Rollout rollout = play(where, 40, ValuePrior::Bounds, network);
  CHECK(std::ranges::count(rollout.terminated, 1) > 5);
  CHECK(rollout.terminated == rollout.done);
  for (std::size_t row = 0; row + 1 < rollout.rows(); ++row) {
    INFO(row);
    CHECK(rollout.next_value[row] ==
          (rollout.terminated[row] != 0 ? 0.0F : rollout.value[row + 1]));
  }
}

}  // namespace
}  // namespace cclgym
