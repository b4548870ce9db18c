// Environment steps per second on one core. The cost of the interface itself is measured with
// Counter-v0, whose step does almost nothing. See docs/gym.md.
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "env/gym/threaded_vector_env.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"

namespace cclgym::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A long episode, so that resets do not matter; action {1, 1} is then always legal.
EnvironmentMaker maker(const std::string& wrappers) {
  return [wrappers] {
    return wrap_environment(make_environment("Counter-v0", parse_yaml("{target: 1000000}", "")),
                            parse_yaml(wrappers, ""));
  };
}

void single(const std::string& wrappers) {
  const auto environment = maker(wrappers)();
  OwnedBuffers buffers(environment->spec());
  const std::vector<std::int32_t> action{1, 1};
  constexpr int kSteps = 5'000'000;
  environment->reset(1, buffers.view());
  const auto begin = Clock::now();
  for (int i = 0; i < kSteps; ++i) {
    if (environment->step(action, buffers.view()).done()) {
      environment->reset(std::nullopt, buffers.view());
    }
  }
  fmt::print("{:>10.2f} M steps/s  one, wrappers {}\n", kSteps / seconds_since(begin) / 1e6,
             wrappers);
}

void vector(std::size_t environments, std::size_t workers) {
  const auto makers = same_makers(environments, maker("[]"));
  std::unique_ptr<VectorEnv> env;
  if (workers == 0) {
    env = std::make_unique<SyncVectorEnv>(makers);
  } else {
    env = std::make_unique<ThreadedVectorEnv>(makers, workers);
  }
  const std::vector<std::int32_t> actions(environments * 2, 1);
  const std::size_t rounds = 2'000'000 / environments;
  env->reset(1);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < rounds; ++i) env->step(actions);
  const double steps = static_cast<double>(rounds * environments);
  fmt::print("{:>10.2f} M steps/s  {} environments, {}\n", steps / seconds_since(begin) / 1e6,
             environments, workers == 0 ? "sync" : fmt::format("{} workers", workers));
}

}  // namespace
}  // namespace cclgym::bench

int main() {
  using namespace cclgym::bench;
  for (int round = 0; round < 3; ++round) {
    single("[]");
    single("[{name: TimeLimit, max_steps: 100000}, RecordEpisodeStatistics]");
    single(
        "[{name: TimeLimit, max_steps: 100000}, RecordEpisodeStatistics, {name: FrameStack, "
        "frames: "
        "4}, NormalizeObservation, NormalizeReward]");
    vector(64, 0);
    vector(64, 1);
    vector(64, 2);
    vector(4096, 2);
  }
}
