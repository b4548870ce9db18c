// Environment for training and measuring agents: its name and options, any number of copies of it,
// and information that only training may use.
#pragma once

#include <cstdint>
#include <functional>
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
  /// `options` are those of make_environment. Throws UserError at the location of the mistake.
  /// `reward` is a reward of CollectiveTuning-v0 in place of the options' own; null: none.
  TrainingEnvironment(std::string name, const YamlValue& options, const SourceLocation& where,
                      const YamlValue& reward = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const EnvironmentSpec& spec() const { return spec_; }
  /// Setup of CollectiveTuning-v0; null for other environments.
  [[nodiscard]] const std::shared_ptr<const TuningSetup>& setup() const { return setup_; }

  /// Makes a copy; copies share the cache of times.
  [[nodiscard]] std::unique_ptr<Environment> make() const;

  /// Sizes of a network for this environment, with the layers of `shape`.
  [[nodiscard]] PolicyShape network_shape(PolicyShape shape) const;
  /// Fills in the meaning of a policy's numbers: features, knobs, profile.
  void describe(PolicyWeights& weights) const;

 private:
  std::string name_;
  YamlValue options_;
  SourceLocation where_;
  std::shared_ptr<const TuningSetup> setup_;
  EnvironmentSpec spec_;
};

/// Makes an environment from the arguments of TrainingEnvironment's constructor. Throws UserError
/// at the location of the mistake.
using TrainingEnvironmentMaker = std::function<std::shared_ptr<const TrainingEnvironment>(
    const std::string& name, const YamlValue& options, const SourceLocation& where,
    const YamlValue& reward)>;
[[nodiscard]] std::shared_ptr<const TrainingEnvironment> make_training_environment(
    const std::string& name, const YamlValue& options, const SourceLocation& where,
    const YamlValue& reward);

/// Conditional masks of an environment in its current state.
class EnvironmentMasks : public ConditionalMasks {
 public:
  EnvironmentMasks(const Environment& environment, std::span<const std::uint8_t> action_mask);
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override;

 private:
  const Environment& environment_;
  std::span<const std::uint8_t> action_mask_;
  std::vector<std::int32_t> start_;  ///< value of each dimension for level 0
  mutable std::vector<std::int32_t> values_;
};

/// Converts levels, which count from 0, to the values of an action space, in place.
void levels_to_action(const Space& space, std::span<std::int32_t> levels);

/// Estimate from which the critic starts.
enum class ValuePrior : std::uint8_t {
  None,      ///< 0
  Bounds,    ///< prior_of_bounds
  Programs,  ///< prior_of_programs
};
/// Prior of the critic for the next call, in units of the reward; 0 for other environments than
/// CollectiveTuning-v0, or if a figure is missing.
[[nodiscard]] float value_prior(const Environment& environment, ValuePrior kind);

/// max over the legal actions of V_prior(s, a), where V_prior(s, a) = -[S(a) alpha + (R(a) / C(a))
/// bytes beta] with each program's own S, R and C (ActionPrior; SCCL section 12.3). The critic
/// estimates V(s), the value of a policy that tends to the best action, so it starts from the
/// maximum. For rewards that are times it is -T of that action, us, otherwise ln(T of the default /
/// T of that action). If actions have no estimates, it is prior_of_bounds.
[[nodiscard]] float prior_of_programs(const CollectiveTuningEnv& environment);

/// Earlier prior: ln(time of NCCL's ring / time of the best program) for the next call. Both times
/// are given by SCCL's T = S alpha + (R / C) L beta (SCCL sections 2.4, 12.3). The ring takes p - 1
/// steps and moves (p - 1) / p of the data per pass (AllReduce has two passes). The best program is
/// the best of the synthesised programs among the actions, each with its own S and R / C; direct
/// sends of one step then take the place of the ring in AllToAll. Without synthesised programs, the
/// best program takes a_l steps and b_l L of an AllGather. For rewards that are times, the prior is
/// -T of the best program, us.
[[nodiscard]] float prior_of_bounds(const CollectiveTuningEnv& environment);

}  // namespace cclgym
