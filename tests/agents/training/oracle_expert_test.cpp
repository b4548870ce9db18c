#include "agents/experts/oracle_expert.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "agents/training/training_environment.hpp"
#include "env/tuning/estimates/action_prior.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

TEST_CASE("The expert of estimates takes the advised action where it is within the margin",
          "[agents][oracle-expert]") {
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml(
          "{fabric: {name: perlmutter, servers: 2}, workload: {name: sweep, sizes: 1KiB..1GiB "
          "x16, order: listed}, actions: stock-nccl}",
          "t"),
      {});
  const std::shared_ptr<const TuningSetup>& setup = where.setup();
  const std::size_t calls = setup->listed_calls().size();
  CollectiveTuningEnv environment(setup);
  OwnedBuffers buffers(environment.spec());
  std::vector<std::int32_t> levels(environment.spec().action_space.size());
  Random random(2);
  // Margins within which all, some and hardly any of the advised actions are.
  std::vector<std::size_t> taken;
  for (const double margin : {10.0, 0.03, 0.0}) {
    OracleExpert expert(setup, 0.005, margin, true);
    environment.reset(1, buffers.view());
    taken.push_back(0);
    for (std::size_t i = 0; i < calls; ++i) {
      const Call call = environment.next_call().call;
      expert.choose(environment, random, levels);
      const auto advice = setup->prior->advice(call);
      const double best_s = environment.oracle().best(call).time_s;
      const double advised_s = environment.oracle().time(call, advice).time_s;
      if (advised_s <= (1 + margin) * best_s) {
        CHECK(std::ranges::equal(levels, advice));
        ++taken.back();
      } else {
        CHECK(environment.oracle().time(call, levels).time_s <=
              Approx((1 + margin) * best_s).epsilon(1e-9));
      }
      environment.step(levels, buffers.view());
    }
  }
  CHECK(taken[0] == calls);
  CHECK(taken[1] < calls);
  CHECK(taken[1] > 0);
}

TEST_CASE("The expert draws good actions, better ones more often", "[agents][oracle-expert]") {
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml("{fabric: {name: ring, gpus: 4}, workload: {name: sweep, sizes: [64KiB]}, "
                 "actions: stock-nccl}",
                 "t"),
      {});
  constexpr double kTemperature = 0.1;
  constexpr double kMargin = 0.5;
  OracleExpert expert(where.setup(), kTemperature, kMargin);
  CHECK(expert.fill(2) == 1);
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(1, buffers.view());
  const Call call = environment.next_call().call;
  std::vector<double> times_s(where.setup()->actions->legal_count(call.collective));
  environment.oracle().all_times(call, times_s);
  const double best_s = environment.oracle().best(call).time_s;

  Random random(2);
  std::map<std::vector<std::int32_t>, int> counts;
  constexpr int kDraws = 20'000;
  std::vector<std::int32_t> levels(environment.spec().action_space.size());
  for (int i = 0; i < kDraws; ++i) {
    expert.choose(environment, random, levels);
    ++counts[levels];
  }
  const auto actions = where.setup()->actions->legal_actions(call.collective);
  double sum = 0;
  for (const double time_s : times_s) {
    if (time_s <= best_s * (1 + kMargin)) sum += std::pow(time_s / best_s, -1 / kTemperature);
  }
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const auto row = actions.subspan(i * levels.size(), levels.size());
    const int count = counts[std::vector<std::int32_t>(row.begin(), row.end())];
    const double p = times_s[i] <= best_s * (1 + kMargin)
                         ? std::pow(times_s[i] / best_s, -1 / kTemperature) / sum
                         : 0;
    CHECK(std::abs(count - kDraws * p) <= 5 * std::sqrt(kDraws * p * (1 - p)) + 1e-9);
  }
}

TEST_CASE("The critic's prior is the speedup over a ring that alpha and beta allow",
          "[agents][oracle-expert]") {
  const TrainingEnvironment where("CollectiveTuning-v0",
                                  parse_yaml("{fabric: ndv4, workload: {name: sweep}}", "t"), {});
  const auto environment = where.make();
  OwnedBuffers buffers(environment->spec());
  environment->reset(3, buffers.view());
  const auto& tuning = dynamic_cast<const CollectiveTuningEnv&>(*environment);
  const FabricFeatures& fabric = where.setup()->fabric;
  const double chunk = static_cast<double>(tuning.next_call().call.bytes) / 8;
  const double ring_s = 14 * (fabric.alpha_s + chunk / fabric.rank_rate_Bps);
  const double best_s =
      2 * (fabric.diameter * fabric.alpha_s + fabric.inverse_bisection_s_per_B * chunk);
  REQUIRE(fabric.diameter > 0);
  CHECK(value_prior(*environment, ValuePrior::Bounds) ==
        Approx(std::max(0.0, std::log(ring_s / best_s))));
  const TrainingEnvironment counter("Counter-v0", {}, {});
  CHECK(value_prior(*counter.make(), ValuePrior::Programs) == 0);
}

TEST_CASE("With synthesised programs, the critic's prior has their S and R / C",
          "[agents][oracle-expert]") {
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml("{fabric: dgx1, programs: synth:pareto, workload: {name: sweep, collectives: "
                 "[alltoall, allgather], sizes: 1MiB, order: listed}}",
                 "t"),
      {});
  const auto environment = where.make();
  OwnedBuffers buffers(environment->spec());
  environment->reset(3, buffers.view());
  const auto& tuning = dynamic_cast<const CollectiveTuningEnv&>(*environment);
  const FabricFeatures& fabric = where.setup()->fabric;
  constexpr double kUnit_Bps = 25e9;
  std::vector<std::int32_t> action(environment->spec().action_space.size(), 0);
  for (int call = 0; call < 2; ++call) {
    const Call& next = tuning.next_call().call;
    const auto bytes = static_cast<double>(next.bytes);
    const bool exchange = next.collective == CollectiveKind::AllToAll;
    // SCCL, Table 4: AllToAll (8, 2, 3) and (24, 4, 8) of the entire buffer, AllGather (2, 2, 3)
    // and (6, 3, 7) of a rank's contribution.
    const double alpha_s = fabric.alpha_s;
    const double per_unit_s = bytes / kUnit_Bps / (exchange ? 1 : 8);
    const double fewest_s = 2 * alpha_s + (exchange ? 3.0 / 8 : 3.0 / 2) * per_unit_s;
    const double least_s =
        (exchange ? 4 : 3) * alpha_s + (exchange ? 1.0 / 3 : 7.0 / 6) * per_unit_s;
    const double default_s = exchange ? alpha_s + fabric.direct_s_per_B * bytes
                                      : 7 * (alpha_s + bytes / 8 / fabric.rank_rate_Bps);
    CHECK(value_prior(*environment, ValuePrior::Bounds) ==
          Approx(std::max(0.0, std::log(default_s / std::min(fewest_s, least_s)))));
    environment->step(action, buffers.view());
  }
  CHECK(fabric.direct_s_per_B > 1.0 / 3 / kUnit_Bps);
}

TEST_CASE("The critic's prior of programs is that of the best action, for each collective",
          "[agents][oracle-expert]") {
  for (const std::string reward : {"log-speedup", "negative-time"}) {
    const TrainingEnvironment where(
        "CollectiveTuning-v0",
        parse_yaml("{fabric: ndv4, actions: stock-nccl, reward: " + reward +
                       ", workload: {name: sweep, collectives: [allreduce, alltoall, broadcast], "
                       "sizes: [1KiB, 16MiB], order: listed}}",
                   "t"),
        {});
    const auto environment = where.make();
    OwnedBuffers buffers(environment->spec());
    environment->reset(1, buffers.view());
    const auto& tuning = dynamic_cast<const CollectiveTuningEnv&>(*environment);
    const std::vector<std::int32_t> action(3, 0);
    for (int i = 0; i < 6; ++i) {
      const ActionPrior::Times times = where.setup()->prior->times(tuning.next_call().call);
      REQUIRE(times.best_s > 0);
      const double expected =
          reward == "log-speedup" ? std::log(times.default_s / times.best_s) : -1e6 * times.best_s;
      CHECK(value_prior(*environment, ValuePrior::Programs) == Approx(expected).margin(1e-6));
      CHECK(value_prior(*environment, ValuePrior::None) == 0);
      environment->step(action, buffers.view());
    }
  }
}

}  // namespace
}  // namespace cclgym
