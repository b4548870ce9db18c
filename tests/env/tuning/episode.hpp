// Episodes of CollectiveTuning with random actions, to compare.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/random.hpp"
#include "env/gym/env_checker.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym::test {

/// Observations, rewards and info of an episode, one after the other.
struct Episode {
  std::vector<float> observations;
  std::vector<double> rewards;
  std::vector<double> infos;
  friend bool operator==(const Episode&, const Episode&) = default;
};

/// Plays steps with random legal actions, the same in every environment with equal masks. Numbers
/// of info that are not known are -1.
inline Episode play(CollectiveTuningEnv& env, std::uint64_t seed, int steps) {
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  Random random(99);
  std::vector<std::uint8_t> scratch(64);
  std::vector<std::int32_t> action(env.spec().action_space.size());
  Episode episode;
  env.reset(seed, view);
  for (int i = 0; i < steps; ++i) {
    sample_legal_action(env, buffers.action_mask, random, scratch, action);
    const StepOutcome outcome = env.step(action, view);
    episode.observations.insert(episode.observations.end(), buffers.observation.begin(),
                                buffers.observation.end());
    episode.rewards.push_back(outcome.reward);
    for (const double number : buffers.info) {
      episode.infos.push_back(std::isnan(number) ? -1 : number);
    }
    if (outcome.done()) env.reset(std::nullopt, view);
  }
  return episode;
}

}  // namespace cclgym::test
