#include "agents/training/learned_policy.hpp"

#include <fmt/core.h>

#include "agents/training/training_environment.hpp"
#include "core/error.hpp"

namespace cclgym {

LearnedPolicy::LearnedPolicy(const PolicyWeights& weights, std::string name)
    : name_(std::move(name)),
      runner_(std::make_shared<const PolicyNetwork>(weights)),
      shape_(weights.shape) {}

void LearnedPolicy::begin_episode(const Environment& environment, std::uint64_t /*seed*/) {
  const EnvironmentSpec& spec = environment.spec();
  if (spec.observation_space.size() != shape_.observations) {
    throw UserError(fmt::format("{} observes {} numbers, policy '{}' was trained on {}", spec.name,
                                spec.observation_space.size(), name_, shape_.observations));
  }
  const auto dimensions = spec.action_space.dimensions();
  bool same = dimensions.size() == shape_.levels.size();
  for (std::size_t d = 0; same && d < dimensions.size(); ++d) {
    same = static_cast<std::size_t>(dimensions[d].n) == shape_.levels[d];
  }
  if (!same) {
    throw UserError(fmt::format("{} has actions {}, policy '{}' was trained on others", spec.name,
                                spec.action_space.text(), name_));
  }
  runner_.start();
}

void LearnedPolicy::act(std::span<const float> observation,
                        std::span<const std::uint8_t> action_mask, const Environment& environment,
                        std::span<std::int32_t> action) {
  look(observation);
  decide(action_mask, environment, action);
}

void LearnedPolicy::decide(std::span<const std::uint8_t> action_mask,
                           const Environment& environment, std::span<std::int32_t> action) {
  (void)runner_.choose(EnvironmentMasks(environment, action_mask), nullptr, action, {});
  levels_to_action(environment.spec().action_space, action);
}

}  // namespace cclgym
