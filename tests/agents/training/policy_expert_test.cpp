// Tests of experts by name, and of baselines used as experts.
#include "agents/training/policy_expert.hpp"

#include <algorithm>

#include "agents/agents_testing.hpp"
#include "agents/baselines/registry.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/learned_policy.hpp"
#include "agents/training/trainer.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

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
