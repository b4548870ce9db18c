#include "agents/trigger/retuning_policy.hpp"

#include <algorithm>

#include "agents/baselines/tuning_policy.hpp"
#include "agents/trigger/trigger_file.hpp"

namespace cclgym {

RetuningPolicy::RetuningPolicy(const PolicyWeights& weights, std::vector<TriggerOf> triggers,
                               std::string name)
    : agent_(weights, std::move(name)), triggers_(std::move(triggers)) {}

void RetuningPolicy::begin_episode(const Environment& environment, std::uint64_t seed) {
  const TuningSetup& setup = tuning_environment(environment, name()).setup();
  agent_.begin_episode(environment, seed);
  time_ = info_index(environment.spec(), CollectiveTuningEnv::kTime);
  expected_ = info_index(environment.spec(), CollectiveTuningEnv::kExpected);
  if (!triggers_.empty()) {
    trigger_ = nearest_trigger(triggers_, setup.fabric_label, setup.regimes.name).detector();
  }
  kept_.clear();
  calls_ = 0;
  settled_at_ = kCallsToSettle;
}

void RetuningPolicy::act(std::span<const float> observation,
                         std::span<const std::uint8_t> action_mask, const Environment& environment,
                         std::span<std::int32_t> action) {
  agent_.look(observation);
  call_ = tuning_environment(environment, name()).next_call().call;
  Kept& kept = kept_[{call_.collective, call_.root, call_.bytes}];
  if (kept.action.empty() || kept.decided_at < settled_at_) {
    agent_.decide(action_mask, environment, action);
    kept.action.assign(action.begin(), action.end());
    kept.decided_at = calls_;
    ++decisions_;
  }
  std::ranges::copy(kept.action, action.begin());
  action_.assign(action.begin(), action.end());
}

void RetuningPolicy::observe(const PolicyFeedback& feedback) {
  ++calls_;
  if (!trigger_) return;
  const TriggerInput input =
      trigger_input(call_, action_, feedback.info[time_], feedback.info[expected_]);
  if (!trigger_->observe(input)) return;
  ++alarms_;
  settled_at_ = calls_ + kCallsToSettle;
}

}  // namespace cclgym
