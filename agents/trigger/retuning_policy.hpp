// The two agents as they are deployed: Config decides for a class of calls, Trigger says when to
// decide anew.
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

/// Keeps the Config agent's choice for a class of calls (collective, root, size to the byte, which
/// jobs repeat) until the trigger raises an alarm. The beginning of an episode counts as one: the
/// agent knows nothing of the machine yet. In the kCallsToSettle calls after an alarm each call is
/// decided anew, and each class once more at its first call after them. The LSTM takes in every
/// call, also those that are not decided.
class RetuningPolicy : public Policy {
 public:
  /// As many calls as the observation's averages look back: all that they speak of is then later
  /// than the alarm.
  static constexpr std::uint64_t kCallsToSettle = TuningObservation::kLoadWindow;

  /// `triggers`: as nearest_trigger takes them; without any there are no alarms after the
  /// beginning. Throws std::invalid_argument if policy_weights_fault finds a fault.
  RetuningPolicy(const PolicyWeights& weights, std::vector<TriggerOf> triggers, std::string name);

  [[nodiscard]] std::string_view name() const override { return agent_.name(); }
  /// Throws UserError if the environment is not CollectiveTuning-v0, or not one that the weights
  /// are for.
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;
  void observe(const PolicyFeedback& feedback) override;
  [[nodiscard]] std::optional<std::uint64_t> decisions() const override { return decisions_; }

  /// Since it was made.
  [[nodiscard]] std::uint64_t alarms() const { return alarms_; }

 private:
  struct Kept {
    std::vector<std::int32_t> action;
    std::uint64_t decided_at = 0;  ///< number of the call in the episode
  };

  LearnedPolicy agent_;
  std::vector<TriggerOf> triggers_;
  std::optional<RegimeTrigger> trigger_;
  std::size_t time_ = 0;
  std::size_t expected_ = 0;
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, Kept> kept_;
  Call call_{};
  std::vector<std::int32_t> action_;
  std::uint64_t calls_ = 0;       ///< of the episode
  std::uint64_t settled_at_ = 0;  ///< choices of earlier calls are not kept any more
  std::uint64_t decisions_ = 0;
  std::uint64_t alarms_ = 0;
};

}  // namespace cclgym
