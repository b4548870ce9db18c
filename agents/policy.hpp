// Interface of everything that chooses an environment's next action: a trained agent, a baseline,
// the oracle. The same loop runs and measures all of them (docs/agents.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "env/gym/environment.hpp"

namespace cclgym {

/// Result of an action.
struct PolicyFeedback {
  double reward = 0;
  bool done = false;  ///< true if the action ended the episode
  /// As many numbers as spec().info_names, as written by the step. Some (oracle_time_us, regime)
  /// are hidden in a real job: a policy that reads them returns true from reads_hidden().
  std::span<const double> info;
};

/// Acts in one environment at a time, call by call: begin_episode, then act and observe in turn
/// until the episode is done.
///
/// Not thread-safe; make one policy per environment to run several at once.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// Name in tables, such as "lstm-ppo", "nccl-default:2.18" or "oracle".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// True if the policy uses information that a tuner on a real machine cannot have.
  [[nodiscard]] virtual bool reads_hidden() const { return false; }

  /// Called after a reset of `environment`. Forgets the state of the last episode (e.g. of an LSTM)
  /// but keeps what is learned across episodes. Random draws until the next call depend only on
  /// `seed` and on what was learned.
  virtual void begin_episode(const Environment& environment, std::uint64_t seed) = 0;

  /// Chooses the next action, legal under `action_mask` and environment.conditional_mask.
  /// `observation` and `action_mask` were written by the last reset or step; `action` has
  /// action_space.size() numbers.
  virtual void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
                   const Environment& environment, std::span<std::int32_t> action) = 0;

  /// Receives the result of the last action.
  virtual void observe(const PolicyFeedback& /*feedback*/) {}

  /// Number of calls with a new decision since construction, for a policy that reuses earlier
  /// choices; nullopt if it decides every call.
  [[nodiscard]] virtual std::optional<std::uint64_t> decisions() const { return std::nullopt; }
};

/// True if `action` is legal in the current state, dimension by dimension under conditional_mask.
/// `scratch` needs the mask bytes of the largest dimension.
[[nodiscard]] bool is_legal_action(const Environment& environment,
                                   std::span<const std::uint8_t> action_mask,
                                   std::span<const std::int32_t> action,
                                   std::span<std::uint8_t> scratch);

}  // namespace cclgym
