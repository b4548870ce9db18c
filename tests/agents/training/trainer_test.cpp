#include "agents/training/trainer.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/learned_policy.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

TrainConfig counter(int iterations) {
  return read_train_config(
      "name: counter\n"
      "train: [{environment: Counter-v0, options: {target: 12}}]\n"
      "evaluate: [{label: counter, environment: Counter-v0, options: {target: 12}, calls: 400}]\n"
      "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n"
      "ppo: {iterations: " +
          std::to_string(iterations) +
          ", environments: 8, steps: 64, sequence: 8, gamma: 0.97, lambda: 0.9, entropy: 0.003, "
          "learning_rate: 0.005}\n"
          "evaluate_every: 5\ncheckpoint_every: 3\n",
      "counter.yaml");
}

TrainConfig tuning() {
  return read_train_config(
      "name: small\n"
      "train:\n"
      "  - options: &small\n"
      "      fabric: {name: ring, gpus: 4}\n"
      "      workload: {name: sweep, sizes: 1KiB..1MiB x4}\n"
      "      actions: stock-nccl\n"
      "      episode: 20\n"
      "evaluate:\n"
      "  - label: all\n"
      "    options: {fabric: {name: ring, gpus: 4}, workload: {name: sweep, sizes: 1KiB..1MiB "
      "x4},\n"
      "              actions: stock-nccl, oracle: true}\n"
      "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n"
      "warm_start: {iterations: 6}\n"
      "ppo: {iterations: 4, environments: 3, steps: 32, sequence: 8}\n"
      "checkpoint_every: 3\n",
      "small.yaml");
}

// Number of calls that a policy needs to count to the target, relative to the minimum.
double excess_of(Policy& policy) {
  const TrainingEnvironment where("Counter-v0", parse_yaml("{target: 12}", "t"), {});
  const auto environment = where.make();
  OwnedBuffers buffers(environment->spec());
  std::vector<std::int32_t> action(2);
  double needed = 0;
  double least = 0;
  for (std::uint64_t episode = 0; episode < 100; ++episode) {
    environment->reset(episode, buffers.view());
    policy.begin_episode(*environment, episode);
    // A step adds 1, 2 or 4; the minimum uses 4 as long as it fits.
    constexpr std::array<int, 4> kOfRest{0, 1, 1, 2};
    const int remaining = static_cast<int>(buffers.observation[1]);
    least += remaining / 4 + kOfRest[static_cast<std::size_t>(remaining % 4)];
    for (bool done = false; !done; needed += 1) {
      policy.act(buffers.observation, buffers.action_mask, *environment, action);
      done = environment->step(action, buffers.view()).done();
    }
  }
  return needed / least;
}

TEST_CASE("PPO learns to count in the minimum number of steps", "[agents][trainer]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig config = counter(30);
  Random random(1);
  LearnedPolicy untrained(
      initial_policy_weights(config.parts[0].environment->network_shape(config.layers), random));
  const Checkpoint trained = train_agent(config, 1, folder.path(), {});
  LearnedPolicy policy(trained.weights);
  CHECK(excess_of(policy) < 1.02);
  CHECK(excess_of(policy) < excess_of(untrained));
}

TEST_CASE("The same seed gives the same weights for any number of threads, another one others",
          "[agents][trainer]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig config = tuning();
  const Checkpoint one = train_agent(config, 1, folder.path() + "/a", {.threads = 1});
  const Checkpoint two = train_agent(config, 1, folder.path() + "/b", {.threads = 2});
  const Checkpoint other = train_agent(config, 2, folder.path() + "/a", {.threads = 1});
  CHECK(one.iteration == 10);
  CHECK(one.weights == two.weights);
  CHECK(one.adam == two.adam);
  CHECK_FALSE(one.weights.tensors == other.weights.tensors);
}

TEST_CASE("An agent can be trained further in another training", "[agents][trainer]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig before = counter(4);
  const Checkpoint first = train_agent(before, 1, folder.path() + "/a", {});
  TrainConfig further = counter(2);
  further.start_from = folder.path() + "/a";
  further.ppo.learning_rate = 0;
  const Checkpoint same = train_agent(further, 1, folder.path() + "/b", {});
  CHECK(same.iteration == 2);
  CHECK(same.weights.tensors == first.weights.tensors);
  CHECK(same.weights.input_shift == first.weights.input_shift);
  CHECK(same.weights.provenance.starts_with(first.weights.provenance + "; then "));
  further.ppo.learning_rate = 0.001;
  // There is no agent of seed 2, so the agent of seed 1 is trained further, with different draws.
  const Checkpoint other = train_agent(further, 2, folder.path() + "/c", {});
  CHECK_FALSE(other.weights.tensors == first.weights.tensors);
  further.layers.head = 5;
  CHECK_THROWS_AS(train_agent(further, 1, folder.path() + "/d", {}), UserError);
}

constexpr const char* kKilledFolder = "CCLGYM_TEST_KILLED_FOLDER";
constexpr const char* kKilledAfter = "CCLGYM_TEST_KILLED_AFTER";

// A helper, not a test: train_and_be_killed runs it.
TEST_CASE("A training that kills itself", "[agents][trainer][.killed]") {
  const char* folder = std::getenv(kKilledFolder);
  const char* after = std::getenv(kKilledAfter);
  REQUIRE(folder != nullptr);
  REQUIRE(after != nullptr);
  TrainerOptions options;
  options.report = [&](const IterationReport& report) {
    if (report.iteration == std::atoi(after)) (void)::raise(SIGKILL);
    return true;
  };
  (void)train_agent(tuning(), 1, folder, options);
}

// Trains in a separate process that is killed after `iterations`. It executes a new program, since
// LibTorch 2 computes no gradients in a fork of a process that has already computed some.
void train_and_be_killed(const std::string& folder, int iterations) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)::setenv(kKilledFolder, folder.c_str(), 1);
    (void)::setenv(kKilledAfter, std::to_string(iterations).c_str(), 1);
    (void)::execl("/proc/self/exe", "test_agents", "[.killed]", static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("A training that is killed again and again ends with the same weights",
          "[agents][trainer]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const TrainConfig config = tuning();
  const Checkpoint whole = train_agent(config, 1, folder.path() + "/whole", {});
  const std::string killed = folder.path() + "/killed";
  // Kills come before the first checkpoint, just after it, during the warm start and during PPO.
  for (const int iteration : {1, 4, 6, 8}) train_and_be_killed(killed, iteration);
  const Checkpoint resumed = train_agent(config, 1, killed, {});
  CHECK(resumed.weights == whole.weights);
  CHECK(resumed.adam == whole.adam);
  CHECK(resumed.iteration == whole.iteration);
  // Every iteration has exactly one row.
  const std::string text = read_text_file(killed + "/seed-1/metrics.csv", 1 << 20);
  CHECK(std::count(text.begin(), text.end(), '\n') == 11);
  for (int i = 1; i <= 10; ++i) {
    CHECK(text.find("\n" + std::to_string(i) + ",") != std::string::npos);
  }
  // A finished run is left unchanged.
  CHECK(train_agent(config, 1, killed, {}).weights == whole.weights);
}

TEST_CASE("A checkpoint of another training is refused", "[agents][trainer]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  (void)train_agent(counter(1), 1, folder.path(), {});
  std::string message;
  try {
    (void)train_agent(counter(2), 1, folder.path(), {});
  } catch (const UserError& error) {
    message = error.what();
  }
  CHECK(message.find("another training file") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
