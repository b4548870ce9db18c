// Checks that baselines act legally and reproducibly, and meet bounds on their times.
#include <algorithm>
#include <cmath>

#include "agents/baselines/baselines_testing.hpp"
#include "agents/baselines/coordinate_descent.hpp"
#include "agents/baselines/registry.hpp"
#include "agents/baselines/simple_policies.hpp"
#include "agents/baselines/trained_table.hpp"
#include "core/error.hpp"
#include "sim/tuners/tuner.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym {
namespace {

using test::setup_of;
using test::small_setup;

// Plays `calls` calls and returns their times; checks that every action is legal.
std::vector<double> play(Policy& policy, const std::shared_ptr<const TuningSetup>& setup, int calls,
                         std::uint64_t seed = 1) {
  CollectiveTuningEnv environment(setup);
  OwnedBuffers buffers(environment.spec());
  std::vector<std::int32_t> action(environment.spec().action_space.size());
  std::vector<std::uint8_t> scratch(64);
  environment.reset(seed, buffers.view());
  policy.begin_episode(environment, seed);
  std::vector<double> times_us;
  const std::size_t time = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  for (int call = 0; call < calls; ++call) {
    policy.act(buffers.observation, buffers.action_mask, environment, action);
    REQUIRE(is_legal_action(environment, buffers.action_mask, action, scratch));
    const StepOutcome outcome = environment.step(action, buffers.view());
    policy.observe({outcome.reward, outcome.done(), buffers.info});
    times_us.push_back(buffers.info[time]);
    if (!outcome.done()) continue;
    environment.reset(std::nullopt, buffers.view());
    policy.begin_episode(environment, seed);
  }
  return times_us;
}

// The setup in which a baseline acts: with its programs, if it is a tuner.
std::shared_ptr<const TuningSetup> setup_for(const std::string& baseline,
                                             const std::shared_ptr<const TuningSetup>& setup) {
  return with_tuners(setup,
                     is_tuner(baseline) ? std::vector{baseline} : std::vector<std::string>{});
}

TEST_CASE("every baseline acts legally and reproducibly", "[agents][baselines]") {
  const auto setup = setup_of(
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, noise: stragglers, workload: {name: "
      "sweep, collectives: [allreduce, allgather], sizes: 1KiB..16MiB x16}, episode: 20}");
  for (const std::string& name : default_baselines(ActionProfile::StockNccl)) {
    INFO(name);
    const auto own = setup_for(name, setup);
    const auto one = make_baseline(name);
    const auto other = make_baseline(name);
    CHECK(std::string(one->name()) == name);
    CHECK(one->reads_hidden() == (name == "oracle"));
    CHECK(play(*one, own, 60) == play(*other, own, 60));
  }
}

TEST_CASE("synthesised programs by formula and by simulation are baselines",
          "[agents][baselines]") {
  const auto setup = setup_of(
      "{fabric: dgx1, programs: synth:pareto, knobs: {algorithm: [nccl-default, naive, "
      "synth-pareto], threads: nccl, chunk: protocol, nic: fabric}, workload: {name: sweep, "
      "collectives: [alltoall, reduce], sizes: 1KiB..64MiB x16, order: listed}}");
  OraclePolicy oracle;
  const std::vector<double> best = play(oracle, setup, 12);
  for (const std::string& name : {std::string("formula"), std::string("synth:pareto")}) {
    INFO(name);
    const auto own = setup_for(name, setup);
    const auto one = make_baseline(name);
    const auto other = make_baseline(name);
    const std::vector<double> times = play(*one, own, 12);
    CHECK(times == play(*other, own, 12));
    for (std::size_t i = 0; i < times.size(); ++i) CHECK(times[i] >= best[i]);
  }
  // A tuner brings programs that the environment lacks.
  const auto plain = setup_of(
      "{fabric: dgx1, actions: stock-nccl, workload: {name: sweep, "
      "collectives: [alltoall], sizes: 1MiB}}");
  const auto brought = with_tuners(plain, {"synth:pareto"});
  CHECK(brought->site->algorithms.entries().size() > plain->site->algorithms.entries().size());
  CHECK(play(*make_baseline("synth:pareto"), brought, 1).front() > 0);
  CHECK(thrown([&] {
          (void)play(*make_baseline("formula"), plain, 1);
        }).starts_with("policy 'formula': the environment has no synthesised programs"));
}

TEST_CASE("the oracle is a lower bound of every baseline, call by call", "[agents][baselines]") {
  for (const char* noise : {"none", "stragglers"}) {
    const auto setup = setup_of(std::string("{fabric: dgx1, actions: stock-nccl, noise: ") + noise +
                                ", workload: {name: sweep, collectives: [allreduce], sizes: "
                                "1KiB..16MiB x16}}");
    OraclePolicy oracle;
    const std::vector<double> best = play(oracle, setup, 60);
    for (const char* name : {"random", "bandit", "autoccl", "table", "svm"}) {
      const auto policy = make_baseline(name);
      const std::vector<double> times = play(*policy, setup, 60);
      for (std::size_t i = 0; i < best.size(); ++i) REQUIRE(times[i] >= best[i] * (1 - 1e-12));
    }
  }
}

TEST_CASE("a tuner's policy takes the tuner's choices; others keep their actions",
          "[agents][baselines]") {
  const auto setup = small_setup();
  const auto more = with_tuners(setup, {"nccl-default", "nccl-default:2.8.4"});
  CHECK(with_tuners(setup, {"nccl-default"}) == setup);
  CHECK(more->actions->levels(Knob::Algorithm).size() ==
        setup->actions->levels(Knob::Algorithm).size() + 1);
  CHECK_THROWS_AS(with_tuners(setup, {"dispatch:no-such.yaml"}), UserError);
  // Limits on the environment's actions also apply to the extended actions, except to the added
  // tuners.
  const auto limited = setup_of(
      "{fabric: ndv4, actions: stock-nccl, legal: nccl, knobs: {algorithm: [ring], channels: [4, "
      "8]}, "
      "workload: {name: sweep, collectives: [allreduce, allgather]}}");
  const auto added = with_tuners(limited, {"nccl-default:2.8.4"});
  CHECK(limited->actions->legal_count(CollectiveKind::AllGather) == 2 * 3);
  CHECK(added->actions->legal_count(CollectiveKind::AllGather) == 2 * 3 + 1);
  CHECK(limited->flat_actions->count() == 2 * 3);
  CHECK(added->flat_actions->count() == 2 * 3 + 1);
  TunerPolicy policy("nccl-default:2.8.4");
  CollectiveTuningEnv environment(more);
  OwnedBuffers buffers(environment.spec());
  std::vector<std::int32_t> action(3);
  environment.reset(1, buffers.view());
  policy.begin_episode(environment, 1);
  policy.act(buffers.observation, buffers.action_mask, environment, action);
  CHECK(more->actions->describe(action) == "nccl-default:2.8.4");
  // An environment without the tuner.
  CollectiveTuningEnv without(setup);
  CHECK_THROWS_AS(policy.begin_episode(without, 1), UserError);
}

TEST_CASE("table and oracle agree at the sizes of the table", "[agents][baselines]") {
  const auto setup = small_setup();
  TablePolicy table;
  OraclePolicy oracle;
  CHECK(play(table, setup, 11) == play(oracle, setup, 11));
}

TEST_CASE("the SVM is within a few per cent of the oracle where it was trained",
          "[agents][baselines]") {
  const auto setup = small_setup();
  SvmPolicy svm;
  OraclePolicy oracle;
  const std::vector<double> times = play(svm, setup, 11);
  const std::vector<double> best = play(oracle, setup, 11);
  int far = 0;
  double sum = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    far += times[i] > 1.1 * best[i] ? 1 : 0;
    sum += std::log(times[i] / best[i]);
  }
  CHECK(far <= 3);
  CHECK(std::exp(sum / static_cast<double>(best.size())) < 1.05);
  // Accuracy on four held-out cells; NaN for a collective that was not called.
  const double accuracy = svm.test_accuracy(CollectiveKind::AllReduce);
  CHECK(accuracy * 4 == std::round(accuracy * 4));
  CHECK(std::isnan(svm.test_accuracy(CollectiveKind::AllGather)));
}

TEST_CASE("few classes cover every size within the tolerance", "[agents][baselines]") {
  const OfflineSweep sweep{.sizes = {1, 2, 3, 4},
                           .time_s = {{1, 1.004, 9}, {2, 2.004, 9}, {9, 3, 9}, {9, 9, 4}}};
  const SweepClasses classes = classify(sweep, 0.01);
  CHECK(classes.actions == std::vector<std::size_t>{1, 2});
  CHECK(classes.class_of == std::vector<std::size_t>{0, 0, 0, 1});
  const SweepClasses exact = classify(sweep, 0);
  CHECK(exact.actions == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("coordinate descent settles, never worse than its start, and counts its search",
          "[agents][baselines]") {
  const auto setup = setup_of(
      "{fabric: dgx1, actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], "
      "sizes: 4KiB}}");
  CoordinateDescentPolicy policy;
  const std::vector<double> times = play(policy, setup, 200);
  CHECK(times.back() <= times.front());
  CHECK(policy.searching() > 10);
  CHECK(policy.searching() + policy.settled() == 200);
  REQUIRE(policy.settled() > 50);
  // After settling, the best configuration seen so far is used every time.
  CHECK(times.back() == *std::min_element(times.begin(), times.end()));
  CHECK(times[times.size() - 50] == times.back());
}

TEST_CASE("messages about unknown names suggest the nearest", "[agents][baselines]") {
  CHECK_THROWS_AS(make_baseline("nccl-default:1.0"), UserError);
  CHECK_THROWS_AS(make_baseline("nccl-default:1.0:symmetric"), UserError);
  CHECK(make_baseline("nccl-default:2.30.7:symmetric") != nullptr);
  std::string message;
  try {
    (void)make_baseline("oracel");
  } catch (const UserError& error) {
    message = error.what();
  }
  CHECK(message.find("did you mean 'oracle'") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
