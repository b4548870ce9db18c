// What agents are trained and measured in: an environment by name and options, as many copies of it
// as wanted, and what only the training side may ask about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "core/yaml/yaml.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

class TrainingEnvironment {
 public:
  /// `options` as make_environment takes them. Throws UserError at the place of what is wrong.
  TrainingEnvironment(std::string name, const YamlValue& options, const SourceLocation& where);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const EnvironmentSpec& spec() const { return spec_; }
  /// Of CollectiveTuning-v0; null for others.
  [[nodiscard]] const std::shared_ptr<const TuningSetup>& setup() const { return setup_; }

  /// Copies share the cache of times.
  [[nodiscard]] std::unique_ptr<Environment> make() const;

  /// Sizes of a network for it; layers as `shape` has them.
  [[nodiscard]] PolicyShape network_shape(PolicyShape shape) const;
  /// Fills in what the numbers of a policy for it mean: features, knobs, profile.
  void describe(PolicyWeights& weights) const;

 private:
  std::string name_;
  YamlValue options_;
  SourceLocation where_;
  std::shared_ptr<const TuningSetup> setup_;
  EnvironmentSpec spec_;
};

/// The conditional masks of an environment as it is now.
class EnvironmentMasks : public ConditionalMasks {
 public:
  EnvironmentMasks(const Environment& environment, std::span<const std::uint8_t> action_mask);
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override;

 private:
  const Environment& environment_;
  std::span<const std::uint8_t> action_mask_;
  std::vector<std::int32_t> start_;  ///< of each dimension: the action's value at level 0
  mutable std::vector<std::int32_t> values_;
};

/// Levels from 0 to the values of an action space, in place.
void levels_to_action(const Space& space, std::span<std::int32_t> levels);

/// What the critic starts from, in units of the reward: how much faster the call at hand can be
/// than NCCL's ring, if both took SCCL's T = S alpha + (R / C) L beta (SCCL sections 2.4, 12.3).
///
/// S and R / C of the ring: p - 1 steps and (p - 1) / p of the data for each pass (AllReduce has
/// two). Of the best: a_l steps and b_l L. Rewards that are times have -T of the best, us. 0 where
/// the environment is another one, or a figure is missing.
[[nodiscard]] float value_prior(const Environment& environment);

}  // namespace cclgym
