// Checks that steps allocate nothing in warm environments, since training makes billions of steps.
#include "env/gym/threaded_vector_env.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

std::unique_ptr<Environment> make_in_all_wrappers() {
  return wrap_environment(
      make_environment("Counter-v0"),
      parse_yaml("[{name: TimeLimit, max_steps: 3}, RecordEpisodeStatistics, {name: FrameStack, "
                 "frames: 4}, NormalizeObservation, NormalizeReward]",
                 "test"));
}

TEST_CASE("Steps and resets in all wrappers allocate nothing", "[env][allocation]") {
  const auto environment = make_in_all_wrappers();
  OwnedBuffers buffers(environment->spec());
  std::vector<std::uint8_t> scratch(2);
  std::vector<std::int32_t> action(2);
  Random random(1);
  environment->reset(1, buffers.view());
  const long before = test::allocations();
  for (int i = 0; i < 1000; ++i) {
    sample_legal_action(*environment, buffers.action_mask, random, scratch, action);
    if (environment->step(action, buffers.view()).done()) {
      environment->reset(std::nullopt, buffers.view());
    }
  }
  CHECK(test::allocations() == before);
}

TEST_CASE("Steps of vector environments allocate nothing, with or without threads",
          "[env][allocation]") {
  for (const Autoreset autoreset : {Autoreset::NextStep, Autoreset::SameStep}) {
    for (const std::size_t workers : {0U, 2U}) {
      std::unique_ptr<VectorEnv> env;
      const auto makers = same_makers(4, make_in_all_wrappers);
      if (workers == 0) {
        env = std::make_unique<SyncVectorEnv>(makers, autoreset);
      } else {
        env = std::make_unique<ThreadedVectorEnv>(makers, workers, autoreset);
      }
      env->reset(1);
      const std::vector<std::int32_t> actions(8, 1);  // always legal
      env->step(actions);
      const long before = test::allocations();
      for (int i = 0; i < 1000; ++i) env->step(actions);
      CHECK(test::allocations() == before);
    }
  }
}

}  // namespace
}  // namespace cclgym
