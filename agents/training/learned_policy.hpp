// A trained agent as a policy: takes the likeliest choice in every dimension, in plain loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "agents/policy.hpp"

namespace cclgym {

class LearnedPolicy : public Policy {
 public:
  /// Throws std::invalid_argument if policy_weights_fault finds a fault.
  explicit LearnedPolicy(const PolicyWeights& weights, std::string name = "lstm-ppo");

  [[nodiscard]] std::string_view name() const override { return name_; }
  /// Throws UserError if the environment's observation or actions do not match the weights.
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;

  // The two halves of act(), for callers that do not decide at every call.
  /// Feeds an observation.
  void look(std::span<const float> observation) { runner_.observe(observation); }
  /// Chooses the action for the last observation.
  void decide(std::span<const std::uint8_t> action_mask, const Environment& environment,
              std::span<std::int32_t> action);

 private:
  std::string name_;
  PolicyRunner runner_;
  PolicyShape shape_;
};

}  // namespace cclgym
