#include <cmath>
#include <memory>

#include "env/gym/probe_env.hpp"
#include "env/gym/wrappers/episode_statistics.hpp"
#include "env/gym/wrappers/frame_stack.hpp"
#include "env/gym/wrappers/normalize.hpp"
#include "env/gym/wrappers/time_limit.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using Floats = std::vector<float>;
using test::ProbeEnv;

const std::vector<std::int32_t> kAction{1};

TEST_CASE("TimeLimit truncates at its last step, whether or not the episode ends there",
          "[env][wrapper]") {
  for (const std::size_t length : {3U, 2U, 10U}) {
    TimeLimit limited(
        std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}, std::vector<double>{}, length), 3);
    OwnedBuffers buffers(limited.spec());
    for (int episode = 0; episode < 2; ++episode) {
      limited.reset(std::nullopt, buffers.view());
      CHECK_FALSE(limited.step(kAction, buffers.view()).done());
      CHECK(limited.step(kAction, buffers.view()) == StepOutcome{0, length == 2, false});
      if (length == 2) continue;
      CHECK(limited.step(kAction, buffers.view()) == StepOutcome{0, length == 3, true});
    }
  }
  CHECK_THROWS_AS(TimeLimit(std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}), 0),
                  std::invalid_argument);
}

TEST_CASE("RecordEpisodeStatistics reports at the end of an episode", "[env][wrapper]") {
  RecordEpisodeStatistics recorded(
      std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}, std::vector<double>{1.5, -2, 4}, 3));
  CHECK(recorded.spec().info_names == std::vector<std::string>{"step", "episode.r", "episode.l"});
  OwnedBuffers buffers(recorded.spec());
  for (int episode = 0; episode < 2; ++episode) {
    recorded.reset(std::nullopt, buffers.view());
    CHECK(std::isnan(buffers.info[1]));
    CHECK(std::isnan(buffers.info[2]));
    recorded.step(kAction, buffers.view());
    recorded.step(kAction, buffers.view());
    CHECK(buffers.info[0] == 2);
    CHECK(std::isnan(buffers.info[1]));
    CHECK(recorded.step(kAction, buffers.view()).terminated);
    CHECK(buffers.info == std::vector<double>{3, 3.5, 3});
  }
}

TEST_CASE("FrameStack has the last observations, oldest first", "[env][wrapper]") {
  FrameStack stacked(
      std::make_unique<ProbeEnv>(std::vector<Floats>{{0, 10}, {1, 11}, {2, 12}, {3, 13}}), 3);
  CHECK(stacked.spec().observation_space.text() == "Box(-100.0, 100.0, (3, 2), float32)");
  OwnedBuffers buffers(stacked.spec());
  for (int episode = 0; episode < 2; ++episode) {
    stacked.reset(std::nullopt, buffers.view());
    CHECK(buffers.observation == Floats{0, 10, 0, 10, 0, 10});
    stacked.step(kAction, buffers.view());
    CHECK(buffers.observation == Floats{0, 10, 0, 10, 1, 11});
    stacked.step(kAction, buffers.view());
    stacked.step(kAction, buffers.view());
    CHECK(buffers.observation == Floats{1, 11, 2, 12, 3, 13});
  }
  CHECK_THROWS_AS(FrameStack(std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}), 0),
                  std::invalid_argument);
}

TEST_CASE("NormalizeObservation: mean 0 and variance 1 of the observations so far",
          "[env][wrapper]") {
  const std::vector<Floats> raw{{1, 5}, {3, 5}, {8, 5}, {-2, 5}};
  NormalizeObservation normalized(std::make_unique<ProbeEnv>(raw));
  CHECK(normalized.spec().observation_space.text() == "Box(-inf, inf, (2,), float32)");
  CHECK(normalized.spec().keeps_statistics);
  OwnedBuffers buffers(normalized.spec());
  // By definition, the prior counts as 1e-4 values of mean 0 and variance 1.
  const auto expected = [&](std::size_t seen, std::size_t element) {
    double sum = 0;
    for (std::size_t i = 0; i < seen; ++i) sum += static_cast<double>(raw[i][element]);
    const double count = 1e-4 + static_cast<double>(seen);
    const double mean = sum / count;
    double squares = 1e-4 * (1 + mean * mean);
    for (std::size_t i = 0; i < seen; ++i) {
      squares += std::pow(static_cast<double>(raw[i][element]) - mean, 2);
    }
    return (static_cast<double>(raw[seen - 1][element]) - mean) / std::sqrt(squares / count + 1e-8);
  };
  normalized.reset(std::nullopt, buffers.view());
  for (std::size_t seen = 1; seen <= 4; ++seen) {
    if (seen > 1) normalized.step(kAction, buffers.view());
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(static_cast<double>(buffers.observation[i]) == Approx(expected(seen, i)).epsilon(1e-6));
    }
  }
  // The moments are frozen for evaluation.
  const auto mean = normalized.moments().mean();
  normalized.set_updating(false);
  normalized.reset(std::nullopt, buffers.view());
  CHECK(normalized.moments().mean() == mean);
  CHECK(static_cast<double>(buffers.observation[0]) ==
        Approx((1 - mean[0]) / std::sqrt(normalized.moments().variance()[0] + 1e-8)).epsilon(1e-6));
}

TEST_CASE("NormalizeReward: rewards over the standard deviation of their discounted sum",
          "[env][wrapper]") {
  NormalizeReward normalized(
      std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}, std::vector<double>{2, -1, 4}, 3), 0.5);
  OwnedBuffers buffers(normalized.spec());
  // Sums by hand for gamma 0.5. The last step of an episode restarts the sum with its own reward.
  const std::vector<double> sums{2, 0, 4, 4, 1, 4};
  const std::vector<double> rewards{2, -1, 4, 2, -1, 4};
  double count = 1e-4;
  double mean = 0;
  double squares = 1e-4;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i % 3 == 0) normalized.reset(std::nullopt, buffers.view());
    const double delta = sums[i] - mean;
    count += 1;
    mean += delta / count;
    squares += delta * (sums[i] - mean);  // Welford's update
    const StepOutcome outcome = normalized.step(kAction, buffers.view());
    CHECK(outcome.reward == Approx(rewards[i] / std::sqrt(squares / count + 1e-8)).epsilon(1e-9));
    CHECK(outcome.terminated == (i % 3 == 2));
  }
  CHECK_THROWS_AS(NormalizeReward(std::make_unique<ProbeEnv>(std::vector<Floats>{{0}}), 1.5),
                  std::invalid_argument);
}

TEST_CASE("Wrappers are added by name, the first one innermost", "[env][wrapper]") {
  const auto wrapped = [](const char* list) {
    return wrap_environment(make_environment("Counter-v0"), parse_yaml(list, "w.yaml"));
  };
  const auto message = [&](const char* list) {
    try {
      (void)wrapped(list);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  const auto both = wrapped(
      "[{name: FrameStack, frames: 4}, RecordEpisodeStatistics, {name: NormalizeObservation}]");
  CHECK(both->spec().observation_space.text() == "Box(-inf, inf, (4, 2), float32)");
  CHECK(both->spec().info_names ==
        std::vector<std::string>{"count", "steps", "episode.r", "episode.l"});
  CHECK(message("[TimeLimit]") == "w.yaml:1:2: wrapper TimeLimit needs options");
  CHECK(message("[{name: TimeLimit}]").find("w.yaml:1:2") == 0);
  CHECK(message("[{max_steps: 3}]") ==
        "w.yaml:1:2: the wrapper has no name; expected {name: WRAPPER, ...}");
  CHECK(message("[{name: TimeLimit, max_steps: 0}]").find("w.yaml:1:31") == 0);
  CHECK(message("[{name: TimeLimit, max_step: 3}]").find("did you mean 'max_steps'?") !=
        std::string::npos);
  CHECK(message("[FrameStak]").find("did you mean 'FrameStack'?") != std::string::npos);
  CHECK(message("{name: TimeLimit}").find("w.yaml:1:1") == 0);
}

}  // namespace
}  // namespace cclgym
