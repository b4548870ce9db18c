// The two agents as deployed: Config decides for a class of calls, and Trigger determines when
// Config decides again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agents/training/learned_policy.hpp"
#include "agents/trigger/trigger.hpp"
#include "env/tuning/tuning_observation.hpp"

namespace cclgym {

/// Keeps the Config agent's choice for a class of calls (collective, root, exact size) until the
/// trigger raises an alarm. An episode begins with an alarm, since the agent knows nothing of the
/// machine yet. Each of the kCallsToSettle calls after an alarm is decided, and each class is
/// decided once more at its first call after these. The LSTM is fed every call, decided or not.
class RetuningPolicy : public Policy {
 public:
  /// Number of calls covered by the observation's averages: after so many calls, the averages
  /// contain no call from before the alarm.
  static constexpr std::uint64_t kCallsToSettle = TuningObservation::kLoadWindow;

  /// `triggers` are passed to nearest_trigger; without any there are no alarms after the beginning.
  /// Throws std::invalid_argument if policy_weights_fault finds a fault.
  RetuningPolicy(const PolicyWeights& weights, std::vector<TriggerOf> triggers, std::string name);

  [[nodiscard]] std::string_view name() const override { return agent_.name(); }
  /// Throws UserError if the environment is not CollectiveTuning-v0, or does not match the weights.
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;
  void observe(const PolicyFeedback& feedback) override;
  [[nodiscard]] std::optional<std::uint64_t> decisions() const override { return decisions_; }

  /// Number of alarms since construction.
  [[nodiscard]] std::uint64_t alarms() const { return alarms_; }

 private:
  struct Kept {
    std::vector<std::int32_t> action;
    std::uint64_t decided_at = 0;  ///< number of the call in the episode
  };

  LearnedPolicy agent_;
  std::vector<TriggerOf> triggers_;
  std::optional<ChangeDetector> trigger_;
  std::size_t time_ = 0;
  std::size_t expected_ = 0;
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, Kept> kept_;
  Call call_{};
  std::vector<std::int32_t> action_;
  std::uint64_t calls_ = 0;       ///< number of calls in the episode
  std::uint64_t settled_at_ = 0;  ///< choices made before this call have expired
  std::uint64_t decisions_ = 0;
  std::uint64_t alarms_ = 0;
};

}  // namespace cclgym
