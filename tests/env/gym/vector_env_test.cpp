// Compares the autoreset modes with expected results that are written out here;
// env_checker_test.cpp compares all modes with single environments.
#include "env/gym/vector_env.hpp"

#include <stdexcept>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "env/gym/probe_env.hpp"
#include "env/gym/threaded_vector_env.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

namespace cclgym {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;
using Ints = std::vector<std::int32_t>;
using test::ProbeEnv;

/// Environments whose episodes have 2 and 3 steps; the observation is the number of steps.
std::vector<EnvironmentMaker> makers() {
  const auto of_length = [](std::size_t length) {
    return EnvironmentMaker([length] {
      return std::make_unique<ProbeEnv>(std::vector<Floats>{{0}, {1}, {2}, {3}},
                                        std::vector<double>{5, 6, 7}, length);
    });
  };
  return {of_length(2), of_length(3)};
}

const Ints kActions{0, 0};

TEST_CASE("Autoreset NextStep: the step after the end resets, with reward 0", "[env][vector-env]") {
  SyncVectorEnv env(makers());
  CHECK(to_string(env.metadata().autoreset) == "NextStep");
  env.reset(1);
  const VectorBuffers& got = env.results();
  CHECK(got.observations == Floats{0, 0});
  env.step(kActions);
  CHECK(got.observations == Floats{1, 1});
  CHECK(got.rewards == std::vector<double>{5, 5});
  CHECK(got.terminated == Bytes{0, 0});
  env.step(kActions);
  CHECK(got.observations == Floats{2, 2});
  CHECK(got.terminated == Bytes{1, 0});
  env.step(Ints{99, 0});  // ignored: 99 would be an invalid action
  CHECK(got.observations == Floats{0, 3});
  CHECK(got.rewards == std::vector<double>{0, 7});
  CHECK(got.terminated == Bytes{0, 1});
  CHECK(got.finished == Bytes{0, 0});
  env.step(Ints{0, 99});
  CHECK(got.observations == Floats{1, 0});
  CHECK(got.rewards == std::vector<double>{5, 0});
}

TEST_CASE("Autoreset SameStep: the last results of an episode are kept apart",
          "[env][vector-env]") {
  SyncVectorEnv env(makers(), Autoreset::SameStep);
  CHECK(to_string(env.metadata().autoreset) == "SameStep");
  env.reset(1);
  const VectorBuffers& got = env.results();
  env.step(kActions);
  CHECK(got.finished == Bytes{0, 0});
  env.step(kActions);
  CHECK(got.observations == Floats{0, 2});
  CHECK(got.rewards == std::vector<double>{6, 6});
  CHECK(got.terminated == Bytes{1, 0});
  CHECK(got.finished == Bytes{1, 0});
  CHECK(got.final_observations[0] == 2);
  CHECK(got.final_infos[0] == 2);
  CHECK(got.infos[0] == 0);
  env.step(kActions);
  CHECK(got.observations == Floats{1, 0});
  CHECK(got.terminated == Bytes{0, 1});
  CHECK(got.finished == Bytes{0, 1});
  CHECK(got.final_observations[1] == 3);
}

TEST_CASE("Autoreset Disabled: the caller resets ended environments", "[env][vector-env]") {
  SyncVectorEnv env(makers(), Autoreset::Disabled);
  CHECK(to_string(env.metadata().autoreset) == "Disabled");
  env.reset(1);
  const VectorBuffers& got = env.results();
  env.step(kActions);
  env.step(kActions);
  CHECK(got.terminated == Bytes{1, 0});
  env.reset_some(got.terminated, std::nullopt);
  CHECK(got.observations == Floats{0, 2});
  CHECK(got.rewards == std::vector<double>{0, 6});
  CHECK(got.terminated == Bytes{0, 0});
  env.step(kActions);
  CHECK(got.observations == Floats{1, 3});
  CHECK_THROWS_AS(env.step(kActions), ResetNeeded);
}

TEST_CASE("Environment i of a vector gets seed + i, or its own", "[env][vector-env]") {
  const auto maker = [] {
    return make_environment("Counter-v0", parse_yaml("{target: 1000000}", "test"));
  };
  const auto starts = [](const VectorEnv& env) {
    return std::vector<double>{env.results().infos[0], env.results().infos[2],
                               env.results().infos[4]};
  };
  const auto single = [&](std::uint64_t seed) {
    const auto environment = maker();
    OwnedBuffers buffers(environment->spec());
    environment->reset(seed, buffers.view());
    return buffers.info[0];
  };
  SyncVectorEnv env(same_makers(3, maker));
  env.reset(40);
  CHECK(starts(env) == std::vector<double>{single(40), single(41), single(42)});
  env.reset(std::vector<std::optional<std::uint64_t>>{7, std::nullopt, 9});
  CHECK(starts(env)[0] == single(7));
  CHECK(starts(env)[2] == single(9));
  CHECK(starts(env)[1] != single(8));
  env.reset_some(Bytes{0, 1, 0}, 50);
  CHECK(starts(env) == std::vector<double>{single(7), single(51), single(9)});
  env.reset(1, parse_yaml("{start: 12}", "test"));
  CHECK(starts(env) == std::vector<double>{12, 12, 12});
  CHECK_THROWS_AS(env.reset(std::vector<std::optional<std::uint64_t>>{7}), std::logic_error);
  CHECK_THROWS_AS(env.reset_some(Bytes{1}, 1), std::logic_error);
}

TEST_CASE("Errors come out of a vector environment: the first environment's, from any thread",
          "[env][vector-env]") {
  for (const std::size_t workers : {0U, 1U, 2U}) {
    std::unique_ptr<VectorEnv> env;
    if (workers == 0) {
      env = std::make_unique<SyncVectorEnv>(makers());
    } else {
      env = std::make_unique<ThreadedVectorEnv>(makers(), workers);
    }
    CHECK_THROWS_AS(env->step(kActions), ResetNeeded);
    CHECK_THROWS_AS(env->reset(1, parse_yaml("{no: 1}", "test")), UserError);
    CHECK_THROWS_AS(env->step(kActions),
                    ResetNeeded);  // because the failed reset left them without an episode
    env->reset(1);
    CHECK_THROWS_AS(env->step(Ints{0}), InvalidAction);
    try {
      env->step(Ints{7, 8});
      FAIL("actions outside of the space");
    } catch (const InvalidAction& error) {
      CHECK(std::string(error.what()) ==
            "environment 0: Probe-v0: action [7] is not in Discrete(3)");
    }
    env->step(kActions);
    CHECK(env->results().observations == Floats{1, 1});
  }
}

TEST_CASE("a vector with workers refuses to step in a forked process", "[env][vector-env]") {
  SKIP_UNLESS(!test::kSanitized, "sanitizers follow fork() badly");
  auto env = std::make_unique<ThreadedVectorEnv>(makers(), 2);
  env->reset(1);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(600);  // ends a process that waits for its parent's threads
    int status = 1;
    try {
      env->step(kActions);
    } catch (const std::runtime_error& error) {
      const std::string_view said = error.what();
      if (said.starts_with("Probe-v0: the vector was made in another process")) status = 0;
    }
    env.reset();
    ::_exit(status);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  env->step(kActions);
  CHECK(env->results().observations == Floats{1, 1});
}

TEST_CASE("Vector environments need identical environments", "[env][vector-env]") {
  CHECK_THROWS_AS(SyncVectorEnv({}), std::invalid_argument);
  CHECK_THROWS_AS(ThreadedVectorEnv(makers(), 0), std::invalid_argument);
  auto different = makers();
  different.push_back([] { return make_environment("Counter-v0"); });
  CHECK_THROWS_AS(SyncVectorEnv(different), std::invalid_argument);
  CHECK(ThreadedVectorEnv(makers(), 8).workers() == 2);
}

}  // namespace
}  // namespace cclgym
