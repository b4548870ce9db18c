#include "env/tuning/tuning_reward.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

const OptionSpec& spec_of(std::string_view name) { return find_option(reward_options(), name); }

}  // namespace

const std::vector<OptionSpec>& reward_options() {
  const auto weight = [](const std::string& name, const std::string& description) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Real,
                      .description = description,
                      .min = 0,
                      .max = 1e6,
                      .default_text = "0.1"};
  };
  static const std::vector<OptionSpec> specs{
      {.name = "name",
       .kind = OptionKind::Choice,
       .description = "quantity that is rewarded",
       .required = true,
       .choices = {"log-speedup", "negative-time", "rolling", "tail", "alpha-beta", "step-time"}},
      {.name = "window",
       .kind = OptionKind::Integer,
       .description = "number of calls over which `rolling` takes the mean",
       .min = 1,
       .max = TuningReward::kMostWindow,
       .default_text = "10"},
      weight("tail_weight", "weight of ln(p99 / median), for tail"),
      weight("alpha_weight", "lambda of the bonus for few steps, for alpha-beta"),
      weight("beta_weight", "lambda of the bonus for little data, for alpha-beta"),
      {.name = "over",
       .description = "tuner whose time takes the place of the default's, such as PCCL's "
                      "dispatcher: one of `tuners`; the default if not given"}};
  return specs;
}

RewardOptions read_reward(const YamlValue& value) {
  RewardOptions options;
  if (value.is_null()) return options;
  if (!value.is_mapping()) {
    options.kind = static_cast<RewardKind>(read_choice(value, spec_of("name")));
    return options;
  }
  check_keys(value, reward_options(), "reward");
  const auto real = [&](std::string_view key) {
    return read_real(option_value(value, spec_of(key)), spec_of(key));
  };
  options.kind =
      static_cast<RewardKind>(read_choice(option_value(value, spec_of("name")), spec_of("name")));
  options.window =
      static_cast<int>(read_integer(option_value(value, spec_of("window")), spec_of("window")));
  options.tail_weight = real("tail_weight");
  options.alpha_weight = real("alpha_weight");
  options.beta_weight = real("beta_weight");
  const YamlValue over = option_value(value, spec_of("over"));
  if (!over.is_null()) {
    options.over = read_text(over, spec_of("over"));
    options.over_where = over.location();
  }
  return options;
}

TuningReward::TuningReward(const RewardOptions& options)
    : options_(options), recent_(static_cast<std::size_t>(options.window)) {}

void TuningReward::start() {
  recent_count_ = 0;
  ratio_count_ = 0;
  chosen_ = {};
  reference_ = {};
}

double TuningReward::reward(const RewardInput& input) {
  const double time_us = input.time_s * 1e6;
  switch (options_.kind) {
    case RewardKind::NegativeTime:
      return -time_us;
    case RewardKind::AlphaBeta:
      return -time_us + alpha_beta(input);
    case RewardKind::StepTime:
      return step_time(input);
    default:
      break;
  }
  const double log_speedup = portable_log(input.default_s / input.time_s);
  if (options_.kind == RewardKind::Rolling) return rolling(log_speedup, input.shared_network);
  if (options_.kind == RewardKind::Tail) {
    return log_speedup - options_.tail_weight * tail(input.time_s / input.expected_s);
  }
  return log_speedup;
}

double TuningReward::rolling(double log_speedup, bool shared) {
  recent_[recent_count_ % recent_.size()] = log_speedup;
  ++recent_count_;
  if (!shared) return log_speedup;
  const std::size_t n = std::min(recent_count_, recent_.size());
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += recent_[i];
  return sum / static_cast<double>(n);
}

// ln(p99 / median) of the last calls; 0 before there are 20 calls.
double TuningReward::tail(double ratio) {
  constexpr std::size_t kLeastCalls = 20;
  ratios_[ratio_count_ % kTailCalls] = ratio;
  ++ratio_count_;
  const std::size_t n = std::min(ratio_count_, kTailCalls);
  if (n < kLeastCalls) return 0;
  std::copy_n(ratios_.begin(), n, sorted_.begin());
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(n);
  const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
  const auto high = sorted_.begin() + static_cast<std::ptrdiff_t>((n - 1) * 99 / 100);
  std::nth_element(sorted_.begin(), middle, end);
  const double median = *middle;
  std::nth_element(sorted_.begin(), high, end);
  return std::max(0.0, portable_log(*high / median));
}

// Reward AlphaBeta, us. If (R / C) L beta of the program is not known, it is the part of the
// noiseless time that is not latency.
double TuningReward::alpha_beta(const RewardInput& input) const {
  const double alpha_s = input.steps * input.alpha_s;
  const double beta_s =
      input.beta_s >= 0 ? input.beta_s : std::max(0.0, input.expected_s - alpha_s);
  return 1e6 * (options_.alpha_weight * (input.least_steps - input.steps) * input.alpha_s +
                options_.beta_weight * (input.least_beta_s - beta_s));
}

// A call starts when its data has been computed and the previous call has ended. If the job does
// not compute during the call, it resumes when the call ends.
void TuningReward::Streams::call(const CallContext& context, double time_s) {
  compute_s += context.compute_s;
  communication_s = std::max(communication_s, compute_s) + time_s;
  if (!context.overlaps) compute_s = communication_s;
}

double TuningReward::Streams::end_s() const { return std::max(compute_s, communication_s); }

double TuningReward::step_time(const RewardInput& input) {
  chosen_.call(input.context, input.time_s);
  reference_.call(input.context, input.default_s);
  if (!input.context.ends_step) return 0;
  const double reward = portable_log(reference_.end_s() / chosen_.end_s());
  chosen_ = {};
  reference_ = {};
  return reward;
}

}  // namespace cclgym
