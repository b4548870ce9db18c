// The trained policy of a loop: its observations are those of the environment, and its decisions
// follow alarms.
#include "calibration/loop/policy_chooser.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "agents/training/learned_policy.hpp"
#include "calibration/loop/loop_plan.hpp"
#include "calibration/loop/loop_policy_testing.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

const std::string kMachine =
    "fabric: {name: ethernet, servers: 4}, actions: openmpi, window: 3, episode: 0, workload: "
    "{name: "
    "sweep, order: listed, collectives: [allreduce, broadcast, alltoall], sizes: 64KiB..1MiB x4}";
const std::string kNoise =
    ", noise: {name: n, measurement: {sigma: 0.3}, regimes: [{noise: none, mean_calls: 20}, "
    "{noise: "
    "{name: slow, slow_nics: {nodes: 2, nics: 0, capacity: 0.3}}, mean_calls: 20}]}";

std::shared_ptr<const LoopPolicy> policy_of(const TrainingEnvironment& where, std::uint64_t seed) {
  return std::make_shared<const LoopPolicy>(loop_policy_file(where, seed),
                                            LoopPolicySpec{.file = "p"}, 4);
}

// The classes of a sweep in its order, with all of the policy's configurations.
std::vector<ChooserClass> classes_of(const LoopPolicy& policy, const TuningSetup& setup) {
  std::vector<ChooserClass> classes;
  for (const Call& call : setup.listed_calls()) {
    ChooserClass& one = classes.emplace_back(ChooserClass{.call = call, .configs = {}});
    for (const PolicyAction& action : policy.actions(call.collective)) {
      one.configs.push_back({.action = action.action});
    }
  }
  return classes;
}

std::size_t feature(const TrainingEnvironment& where, const std::string& name) {
  const CollectiveTuningEnv environment(where.setup());
  const auto& all = environment.observation().features();
  const auto found = std::ranges::find(all, name, &TuningFeature::name);
  REQUIRE(found != all.end());
  return static_cast<std::size_t>(found - all.begin());
}

TEST_CASE("policy of a loop: observations of measured calls are the environment's, bit for bit",
          "[loop]") {
  const TrainingEnvironment where = loop_environment(kMachine + kNoise);
  const auto policy = policy_of(where, 5);
  const std::vector<ChooserClass> classes = classes_of(*policy, *where.setup());
  REQUIRE(classes.size() == 9);
  PolicyChooser chooser(policy, classes);
  LearnedPolicy agent(loop_weights(where, 5));
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(7, buffers.view());
  agent.begin_episode(environment, 7);
  const std::size_t time = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  std::vector<float> seen(chooser.observation_size());
  std::vector<std::int32_t> likeliest(environment.spec().action_space.size());
  Random random(3);
  std::uint64_t decided = 0;
  for (std::size_t call = 0; call < 120; ++call) {
    const std::size_t group = call % classes.size();
    REQUIRE(environment.next_call().call.collective == classes[group].call.collective);
    REQUIRE(environment.next_call().call.bytes == classes[group].call.bytes);
    chooser.write(seen);
    REQUIRE(seen == buffers.observation);
    agent.act(buffers.observation, buffers.action_mask, environment, likeliest);
    if (call > 0 && call <= PolicyChooser::kCallsToSettle) {
      // The LSTM has seen the same calls, whoever chose their configurations.
      CHECK(classes[group].configs[chooser.table()[group]].action == likeliest);
      ++decided;
    }
    const auto config = static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(classes[group].configs.size()) - 1));
    (void)environment.step(classes[group].configs[config].action, buffers.view());
    (void)chooser.observe({.group = group, .config = config, .time_s = buffers.info[time] * 1e-6});
  }
  CHECK(decided == PolicyChooser::kCallsToSettle);
}

TEST_CASE("policy of a loop: it decides after the start and after an alarm, and then holds",
          "[loop]") {
  const TrainingEnvironment where = loop_environment(kMachine);
  const auto policy = policy_of(where, 5);
  const std::vector<ChooserClass> classes = classes_of(*policy, *where.setup());
  PolicyChooser chooser(policy, classes);
  PolicyChooser again(policy, classes);
  const std::uint64_t first = chooser.decisions();
  Random random(2);
  std::vector<std::size_t> alarms;
  const auto play = [&](std::size_t calls, double factor) {
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t group = call % classes.size();
      const LearnerCall made{.group = group,
                             .config = chooser.table()[group],
                             .time_s = 1e-3 * factor * std::exp(random.normal(0, 0.01))};
      if (chooser.observe(made)) alarms.push_back(call);
      (void)again.observe(made);
      CHECK(again.table() == chooser.table());
    }
  };
  play(90, 1);
  CHECK(alarms.empty());
  CHECK(chooser.decisions() == first + PolicyChooser::kCallsToSettle);
  const std::vector<std::uint16_t> held = chooser.table();
  play(90, 3);
  REQUIRE(alarms.size() == 1);
  CHECK(alarms[0] < 5);
  // The call of the alarm, and as many after it.
  CHECK(chooser.decisions() == first + 2 * PolicyChooser::kCallsToSettle + 1);
  play(90, 3);
  CHECK(alarms.size() == 1);
  // Nothing is learned from what is no call of the loop.
  const std::uint64_t decisions = chooser.decisions();
  CHECK(!chooser.observe({.group = 99, .config = 0, .time_s = 1}));
  CHECK(!chooser.observe({.group = 0, .config = 99, .time_s = 1}));
  CHECK(!chooser.observe({.group = 0, .config = 0, .time_s = std::nan("")}));
  CHECK(chooser.decisions() == decisions);
}

TEST_CASE("policy of a loop: times are compared with those of the prior, if it has them",
          "[loop]") {
  const TrainingEnvironment where = loop_environment(kMachine);
  const auto policy = policy_of(where, 5);
  std::vector<ChooserClass> classes = classes_of(*policy, *where.setup());
  classes[0].configs[1].expected_s = 0.5;
  PolicyChooser chooser(policy, classes);
  std::vector<float> seen(chooser.observation_size());
  const std::size_t mean = feature(where, "mean_log_ratio");
  (void)chooser.observe({.group = 0, .config = 1, .time_s = 0.5});
  chooser.write(seen);
  CHECK(seen[mean] == 0.0F);
  (void)chooser.observe({.group = 0, .config = 1, .time_s = 1});
  chooser.write(seen);
  CHECK(seen[mean] == Approx(std::log(2) / 2).epsilon(1e-6));
}

TEST_CASE("policy of a loop: what is not allowed is not chosen", "[loop]") {
  const TrainingEnvironment where = loop_environment(kMachine);
  const auto policy = policy_of(where, 5);
  std::vector<ChooserClass> classes = classes_of(*policy, *where.setup());
  const std::vector<std::uint16_t> first = PolicyChooser(policy, classes).table();
  for (std::size_t group = 0; group < classes.size(); ++group) {
    classes[group].configs[first[group]].allowed = false;
  }
  const std::vector<std::uint16_t> second = PolicyChooser(policy, classes).table();
  for (std::size_t group = 0; group < classes.size(); ++group) CHECK(second[group] != first[group]);
  for (ChooserConfig& config : classes[4].configs) config.allowed = false;
  CHECK_THROWS_AS(PolicyChooser(policy, classes), std::invalid_argument);
}

TEST_CASE("policy of a loop: other actions, ranks, machines and calls are refused at their place",
          "[loop]") {
  const LoopPolicySpec spec{.file = "p.policy",
                            .where = {.file = "l.yaml", .line = 4, .column = 9},
                            .machine = "",
                            .machine_where = {.file = "l.yaml", .line = 5, .column = 12}};
  const TrainingEnvironment where = loop_environment(kMachine);
  const PolicyFile file = loop_policy_file(where, 5);
  const auto refused = [&](const PolicyFile& policy, const LoopPolicySpec& own, int ranks) {
    return thrown([&] { (void)LoopPolicy(policy, own, ranks); });
  };
  const std::string ranks = refused(file, spec, 8);
  CHECK(contains(ranks, "l.yaml:4:9: none of the machines of 'p.policy' have 8 ranks"));
  CHECK(contains(ranks, "ethernet nodes=4"));
  LoopPolicySpec named = spec;
  named.machine = "ethernet nodes=5";
  CHECK(contains(refused(file, named, 4), "l.yaml:5:12: "));
  named.machine = "ethernet nodes=4";
  CHECK(contains(refused(file, named, 8), "l.yaml:5:12: machine 'ethernet nodes=4' has 4 ranks"));
  const TrainingEnvironment nccl = loop_environment(
      "fabric: {name: ring, gpus: 4}, actions: stock-nccl, workload: {name: sweep, sizes: 1MiB}");
  CHECK(contains(refused(loop_policy_file(nccl, 1), spec, 4),
                 "l.yaml:4:9: 'p.policy' has actions 'stock-nccl'; expected a policy that was "
                 "trained with 'actions: openmpi'"));
  const LoopPolicy policy(file, spec, 4);
  CHECK(contains(thrown([&] { (void)policy.actions(CollectiveKind::ReduceScatter); }),
                 "l.yaml:4:9: the policy was not trained for reducescatter"));
}

TEST_CASE("plan of a loop: a policy adds two lanes, and no candidates of the agent", "[loop]") {
  const TrainingEnvironment where = loop_environment(kMachine);
  const PolicyFile file = loop_policy_file(where, 5);
  const TemporaryFile prior(
      "ranks,nodes,collective,size_bytes,algorithm,segment_bytes,time_us_median\n"
      "4,4,allreduce,65536,openmpi-default,0,100\n4,4,allreduce,65536,ring,0,90\n",
      "prior.csv");
  const std::string text =
      "name: here\nprior: " + prior.path() + "\ncalls: [{collective: allreduce, sizes: 64KiB}]\n";
  const TemporaryFile without(text, "without.yaml");
  const TemporaryFile with(text + "policy: {file: p.policy, machine: ethernet nodes=4}\n",
                           "with.yaml");
  const LoopConfig config = load_loop_config(with.path());
  REQUIRE(config.policy.has_value());
  CHECK(config.policy->file.ends_with("/p.policy"));
  const LoopPlan plain = plan_loop(load_loop_config(without.path()));
  const LoopPlan plan = plan_loop(config, &file);
  REQUIRE(plan.lanes.size() == plain.lanes.size() + 2);
  CHECK(plan.lanes[plain.lanes.size()].name == kPolicyFrozenLane);
  CHECK(plan.lanes.back().name == kPolicyLane);
  CHECK(plan.lanes.back().asks);
  CHECK(plan.lanes.back().table == plan.lanes[plain.lanes.size()].table);
  CHECK(plan.chooser->table() == plan.lanes.back().table);
  const LoopPlanCall& call = plan.calls[0];
  CHECK(call.configs.size() > plain.calls[0].configs.size());
  for (std::size_t i = 0; i < call.configs.size(); ++i) {
    const bool known = i < plain.calls[0].configs.size();
    CHECK(std::isfinite(call.prior_s[i]) == known);
  }
  // Ring is the fastest in the prior, and the only one within 5 % of it.
  const TemporaryFile near(text + "policy: {file: p.policy, within: 1.05}\n", "near.yaml");
  const LoopPlan limited = plan_loop(load_loop_config(near.path()), &file);
  const MpiConfig& chosen = limited.calls[0].configs[limited.chooser->table()[0]];
  CHECK(chosen.algorithm == "ring");
  CHECK(chosen.segment_bytes == 0);
}

}  // namespace
}  // namespace cclgym::test
