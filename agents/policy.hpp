// Who decides what an environment does next: a trained agent, a baseline, the oracle. One
// interface, so that all are run and measured by the same loop (docs/agents.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "env/gym/environment.hpp"

namespace cclgym {

/// What came of an action.
struct PolicyFeedback {
  double reward = 0;
  bool done = false;  ///< the episode ended with it
  /// spec().info_names.size() numbers, as the step wrote them. Some of them (oracle_time_us,
  /// regime) are hidden from whoever runs a real job: a policy that reads them says so in
  /// reads_hidden().
  std::span<const double> info;
};

/// Acts in one environment at a time, call by call:
/// begin_episode, then act and observe by turns until the episode is done.
///
/// Not thread-safe; for many environments at once, make a policy each.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// As tables print it: "lstm-ppo", "nccl-default:2.18", "oracle".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Does it use what a tuner on a real machine cannot know?
  [[nodiscard]] virtual bool reads_hidden() const { return false; }

  /// A new episode of `environment` has been reset. Forgets what belongs to the last episode (an
  /// LSTM's state); keeps what is learned from episode to episode. All that is drawn at random
  /// until the next call depends on `seed`, and on what was learned, only.
  virtual void begin_episode(const Environment& environment, std::uint64_t seed) = 0;

  /// Chooses the next action, legal under `action_mask` and environment.conditional_mask.
  /// `observation` and `action_mask` are what the last reset or step wrote; `action` has
  /// action_space.size() numbers.
  virtual void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
                   const Environment& environment, std::span<std::int32_t> action) = 0;

  /// What came of the last action.
  virtual void observe(const PolicyFeedback& /*feedback*/) {}

  /// In how many calls it has decided anew since it was made, if it also keeps earlier choices;
  /// nothing: in all of them.
  [[nodiscard]] virtual std::optional<std::uint64_t> decisions() const { return std::nullopt; }
};

/// Is `action` legal now, dimension by dimension under conditional_mask? `scratch` has the bytes of
/// the largest dimension at least.
[[nodiscard]] bool is_legal_action(const Environment& environment,
                                   std::span<const std::uint8_t> action_mask,
                                   std::span<const std::int32_t> action,
                                   std::span<std::uint8_t> scratch);

}  // namespace cclgym
