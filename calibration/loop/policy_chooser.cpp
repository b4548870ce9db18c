#include "calibration/loop/policy_chooser.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace cclgym {

namespace {

std::shared_ptr<const LoopPolicy> limited(const LoopPolicy& policy,
                                          const std::vector<ChooserClass>& classes) {
  std::vector<AllowedActions> allowed;
  for (const ChooserClass& one : classes) {
    AllowedActions& own = allowed.emplace_back();
    for (const ChooserConfig& config : one.configs) {
      if (config.allowed && !config.action.empty()) own.push_back(config.action);
    }
    if (own.empty()) throw std::invalid_argument("a class has no allowed configuration");
  }
  return policy.for_classes(allowed);
}

}  // namespace

PolicyChooser::PolicyChooser(const std::shared_ptr<const LoopPolicy>& policy,
                             std::vector<ChooserClass> classes, const ChooserOptions& options)
    : policy_(limited(*policy, classes)),
      classes_(std::move(classes)),
      timer_(policy_->setup()->site, policy_->setup()->cache),
      oracle_(policy_->setup()->actions, timer_),
      observer_(*policy_->setup(), timer_, oracle_),
      times_(options.times),
      bytes_(options.bytes),
      state_(policy_->state_bytes()),
      trial_(state_.size()),
      observation_(observer_.observation().size()),
      action_(policy_->setup()->actions->knobs().size()),
      table_(classes_.size()) {
  if (classes_.empty()) throw std::invalid_argument("a loop without calls");
  start();
  for (std::size_t call = 0; call < 2 * classes_.size(); ++call) {
    table_[next_] = decide_class(next_);
    feed({.group = next_, .config = table_[next_]});
  }
  decide();
  start();
}

void PolicyChooser::start() {
  policy_->start(state_);
  observer_.start();
  next_ = 0;
}

WorkloadCall PolicyChooser::class_call(std::size_t group) const {
  WorkloadCall call{.call = classes_[group].call, .context = {}};
  call.context.ends_step = true;  // as in workload sweep
  return call;
}

void PolicyChooser::write(std::span<float> out) const { observer_.write(class_call(next_), out); }

// Choice for a class as if its call were the next one.
std::uint16_t PolicyChooser::decide_class(std::size_t group) {
  const ChooserClass& one = classes_[group];
  observer_.write(class_call(group), observation_);
  trial_ = state_;
  policy_->decide(trial_, observation_, group, action_);
  const auto chosen = std::ranges::find(one.configs, action_, &ChooserConfig::action);
  if (chosen == one.configs.end()) {
    throw std::logic_error("the policy's action is no configuration of the class");
  }
  return static_cast<std::uint16_t>(chosen - one.configs.begin());
}

void PolicyChooser::decide() {
  for (std::size_t group = 0; group < classes_.size(); ++group) {
    table_[group] = decide_class(group);
  }
  ++decisions_;
}

// Advances the LSTM by the observation before the call, and the observation by the call. A time of
// 0 stands for the expected one.
void PolicyChooser::feed(const LearnerCall& call) {
  const ChooserClass& one = classes_[call.group];
  const ChooserConfig& config = one.configs[call.config];
  observer_.write(class_call(call.group), observation_);
  policy_->decide(state_, observation_, call.group, action_);
  (void)observer_.begin(one.call, config.action);
  if (config.expected_s > 0) observer_.expect(config.expected_s);
  observer_.finish(call.time_s > 0 ? call.time_s : observer_.done().expected_s);
  next_ = (call.group + 1) % classes_.size();
}

bool PolicyChooser::detect(const LearnerCall& call) {
  const std::uint64_t kind = call.group * 65536 + call.config;
  bool alarm = times_.observe({.kind = kind, .log_ratio = std::log(call.time_s)});
  if (call.bytes > 0) {
    alarm = bytes_.observe({.kind = kind, .log_ratio = std::log(call.bytes)}) || alarm;
  }
  if (!alarm) return false;
  times_.start();
  bytes_.start();
  return true;
}

bool PolicyChooser::observe(const LearnerCall& call) {
  if (call.group >= classes_.size() || call.config >= classes_[call.group].configs.size() ||
      !(call.time_s > 0) || !std::isfinite(call.time_s) ||
      classes_[call.group].configs[call.config].action.empty()) {
    return false;
  }
  feed(call);
  ++calls_;
  const bool alarm = detect(call);
  if (alarm) settled_at_ = calls_ + kCallsToSettle;
  if (calls_ <= settled_at_) decide();
  return alarm;
}

}  // namespace cclgym
