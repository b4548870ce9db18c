// Tests of experts by name, and of baselines used as experts.
#include "agents/experts/policy_expert.hpp"

#include <algorithm>

#include "agents/agents_testing.hpp"
#include "agents/baselines/registry.hpp"
#include "agents/experts/disagreement.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/learned_policy.hpp"
#include "agents/training/trainer.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/thrown.hpp"

namespace cclgym {
namespace {

TrainingEnvironment small() {
  return {"CollectiveTuning-v0",
          parse_yaml("{fabric: {name: ring, gpus: 4}, actions: stock-nccl, episode: 0, workload: "
                     "{name: sweep, collectives: [allreduce, allgather], sizes: 1KiB..1MiB x4}}",
                     "t"),
          {}};
}

TEST_CASE("A baseline as an expert answers with the baseline's choice, and draws nothing",
          "[agents][policy-expert]") {
  const TrainingEnvironment where = small();
  for (const auto& [name, kind] :
       {std::pair("svm", ExpertKind::Svm), {"table", ExpertKind::Table}}) {
    const auto expert = make_expert(where.setup(), {.kind = kind}, {});
    const auto baseline = make_baseline(name);
    CollectiveTuningEnv environment(where.setup());
    OwnedBuffers buffers(environment.spec());
    environment.reset(1, buffers.view());
    baseline->begin_episode(environment, 1);
    Random random(5);
    std::vector<std::int32_t> action(environment.spec().action_space.size());
    std::vector<std::int32_t> levels(action.size());
    for (int call = 0; call < 24; ++call) {  // each call twice
      baseline->act(buffers.observation, buffers.action_mask, environment, action);
      expert->choose(environment, random, levels);
      CHECK(levels == action);
      environment.step(action, buffers.view());
    }
    CHECK(random() == Random(5)());
  }
}

TEST_CASE("The first tuner as an expert spells its choice in the knobs",
          "[agents][policy-expert]") {
  const TrainingEnvironment where(
      "CollectiveTuning-v0",
      parse_yaml("{fabric: ndv4, actions: stock-nccl, episode: 0, workload: {name: sweep, "
                 "collectives: [allreduce, allgather], sizes: 1KiB..64MiB x16}}",
                 "t"),
      {});
  const TuningActions& actions = *where.setup()->actions;
  const auto expert = make_expert(where.setup(), {.kind = ExpertKind::Tuner}, {});
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(1, buffers.view());
  Random random(5);
  std::vector<std::int32_t> levels(environment.spec().action_space.size());
  int spelled = 0;
  for (int call = 0; call < 10; ++call) {
    const Call next = environment.next_call().call;
    expert->choose(environment, random, levels);
    REQUIRE(actions.legal(next, levels));
    if (!actions.tuner_of(levels)) {
      ++spelled;
      CHECK(actions.config(next.collective, levels) == actions.reference(next));
    } else {
      CHECK_FALSE(actions.action_of(next.collective, actions.reference(next)));
    }
    environment.step(levels, buffers.view());
  }
  CHECK(spelled > 0);
}

TEST_CASE("Calls weigh more where the expert is not at the optimum", "[agents][policy-expert]") {
  const TrainingEnvironment where = small();
  const auto setup = where.setup();
  const auto expert = make_expert(setup, {.kind = ExpertKind::Tuner}, {});
  const std::vector<double> weights = disagreement_weights(setup, *expert, 3, 1);
  const std::vector<Call> calls = setup->listed_calls();
  REQUIRE(weights.size() == calls.size());
  CallTimer timer(setup->site, setup->cache);
  TuningOracle oracle(setup->actions, timer);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double reference_s = timer.time(calls[i], oracle.reference(calls[i])).time_s;
    // The action nearest to a default without an action of its own may differ from it.
    if (setup->actions->action_of(calls[i].collective, oracle.reference(calls[i]))) {
      const bool slower = reference_s > 1.01 * oracle.best(calls[i]).time_s;
      CHECK(weights[i] == (slower ? 3 : 1));
    }
    CHECK((weights[i] == 1 || weights[i] == 3));
  }
}

TEST_CASE("The front's formula is an expert where synthesised programs are actions",
          "[agents][policy-expert]") {
  const std::string options =
      "fabric: dgx1, programs: synth:pareto, workload: {name: sweep, collectives: [alltoall], "
      "sizes: 1KiB..64MiB x16, order: listed}";
  const TrainingEnvironment where("CollectiveTuning-v0", parse_yaml("{" + options + "}", "t"), {});
  const auto expert = make_expert(where.setup(), {.kind = ExpertKind::Formula}, {});
  CollectiveTuningEnv environment(where.setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(1, buffers.view());
  Random random(5);
  std::vector<std::int32_t> levels(environment.spec().action_space.size());
  const CollectiveFront& front = *where.setup()->actions->front(CollectiveKind::AllToAll);
  for (int call = 0; call < 5; ++call) {
    const double bytes = static_cast<double>(environment.next_call().call.bytes);
    expert->choose(environment, random, levels);
    const FrontSchedule* chosen = where.setup()->actions->synthesised(
        where.setup()->actions->config(CollectiveKind::AllToAll, levels));
    REQUIRE(chosen != nullptr);
    const double alpha_s = prior_alpha_s(where.setup()->fabric);
    // (2, 3/8) and (4, 1/3) on links of 25 GB/s.
    const bool few = 2 * alpha_s + 3.0 / 8 * bytes / 25e9 <= 4 * alpha_s + 1.0 / 3 * bytes / 25e9;
    CHECK(chosen->steps == (few ? 2 : 4));
    environment.step(levels, buffers.view());
  }
  CHECK(front.points.size() == 2);
  const auto config = [](const std::string& machine) {
    return "name: t\ntrain:\n  - options: {" + machine +
           "}\nwarm_start: {expert: formula, iterations: 1}\n";
  };
  CHECK(thrown([&] { (void)read_train_config(config(options), "t.yaml"); }) == "(nothing thrown)");
  CHECK(thrown([&] {
          (void)read_train_config(config("fabric: dgx1"), "t.yaml");
        }).starts_with("t.yaml:4:13: expert formula needs synthesised programs as actions"));
}

TEST_CASE("Rollouts are labelled with the expert's choices for any number of threads",
          "[agents][policy-expert]") {
  const TrainingEnvironment where = small();
  Random random(1);
  const PolicyShape shape = where.network_shape(
      {.observations = 0, .encoder = {8}, .lstm = 4, .head = 4, .value = 4, .levels = {}});
  const auto network = std::make_shared<const PolicyNetwork>(initial_policy_weights(shape, random));
  std::vector<std::vector<std::int32_t>> labels;
  for (const std::size_t threads : {1U, 3U}) {
    const auto expert = make_expert(where.setup(), {.kind = ExpertKind::Table}, {});
    std::vector<CollectSlot> slots;
    for (int i = 0; i < 3; ++i) {
      slots.push_back({.environment = where.make(), .expert = expert.get()});
    }
    Rollout rollout({.environments = 3,
                     .steps = 20,
                     .observations = shape.observations,
                     .lstm = shape.lstm,
                     .levels = shape.levels});
    collect(network, slots, {.seed = 2, .expert_share = 1, .threads = threads}, rollout);
    labels.push_back(rollout.levels);
  }
  CHECK(labels[0] == labels[1]);
  CHECK(std::ranges::any_of(labels[0], [](std::int32_t level) { return level != 0; }));
}

TEST_CASE("A warm start from the SVM ends with the SVM's choices", "[agents][policy-expert]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig config = read_train_config(
      "name: pupil\n"
      "train:\n"
      "  - options: {fabric: {name: ring, gpus: 4}, actions: stock-nccl,\n"
      "              workload: {name: sweep, sizes: 1KiB..1MiB x4}, episode: 0}\n"
      "agent: {encoder: [32], lstm: 8, head: 16, value: 8}\n"
      "warm_start: {expert: svm, iterations: 30, learning_rate: 0.01}\n"
      "ppo: {iterations: 0, environments: 4, steps: 32, sequence: 8}\n",
      "pupil.yaml");
  CHECK(config.warm_start.expert == ExpertKind::Svm);
  const Checkpoint trained = train_agent(config, 1, folder.path(), {});
  LearnedPolicy pupil(trained.weights);
  const auto expert =
      make_expert(config.parts[0].environment->setup(), {.kind = ExpertKind::Svm}, {});
  CollectiveTuningEnv environment(config.parts[0].environment->setup());
  OwnedBuffers buffers(environment.spec());
  environment.reset(9, buffers.view());
  pupil.begin_episode(environment, 9);
  Random random(1);
  std::vector<std::int32_t> action(environment.spec().action_space.size());
  std::vector<std::int32_t> levels(action.size());
  int same = 0;
  constexpr int kCalls = 60;
  for (int call = 0; call < kCalls; ++call) {
    pupil.act(buffers.observation, buffers.action_mask, environment, action);
    expert->choose(environment, random, levels);
    same += levels == action ? 1 : 0;
    environment.step(action, buffers.view());
  }
  CHECK(same >= kCalls * 9 / 10);
}

}  // namespace
}  // namespace cclgym
