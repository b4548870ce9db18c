#include "env/tuning/tuning_reward.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/random.hpp"
#include "env/tuning/size_class.hpp"

namespace cclgym {

namespace {

constexpr double kTailWeight = 0.1;  // default for reward tail

double log_speedup_of(const RewardInput& input) {
  return portable_log(input.default_s / input.time_s);
}

const OptionSpec& spec_of(std::string_view name) { return find_option(reward_options(), name); }

}  // namespace

const std::vector<OptionSpec>& reward_options() {
  const auto weight = [](const std::string& name, const std::string& description,
                         const std::string& default_text) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Real,
                      .description = description,
                      .min = 0,
                      .max = 1e6,
                      .default_text = default_text};
  };
  static const std::vector<OptionSpec> specs{
      {.name = "name",
       .kind = OptionKind::Choice,
       .description = "quantity that is rewarded",
       .required = true,
       .choices = {"log-speedup", "paired-log-speedup", "negative-time", "rolling", "tail",
                   "alpha-beta", "step-time"}},
      {.name = "window",
       .kind = OptionKind::Integer,
       .description = "number of calls of a class over which `rolling` takes the mean",
       .min = 1,
       .max = TuningReward::kMostWindow,
       .default_text = "10"},
      weight("tail_weight",
             "weight of the term for the tail, which any reward can have; 0 if not given, 0.1 for "
             "`tail`",
             ""),
      weight("alpha_weight", "lambda of the bonus for few steps, for alpha-beta", "0.1"),
      weight("beta_weight", "lambda of the bonus for little data, for alpha-beta", "0.1"),
      weight("step_weight", "weight of the iteration's time, in addition to that of its calls",
             "0"),
      weight("fan_out_weight", "weight of the bonus for gains with bytes spread over NICs", "0"),
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
    if (options.kind == RewardKind::Tail) options.tail_weight = kTailWeight;
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
  if (!option_value(value, spec_of("tail_weight")).is_null()) {
    options.tail_weight = real("tail_weight");
  } else if (options.kind == RewardKind::Tail) {
    options.tail_weight = kTailWeight;
  }
  options.alpha_weight = real("alpha_weight");
  options.beta_weight = real("beta_weight");
  options.step_weight = real("step_weight");
  options.fan_out_weight = real("fan_out_weight");
  const YamlValue over = option_value(value, spec_of("over"));
  if (!over.is_null()) {
    options.over = read_text(over, spec_of("over"));
    options.over_where = over.location();
  }
  return options;
}

TuningReward::ClassWindows::ClassWindows(std::size_t size)
    : size_(size), values_(size * kCallClasses), count_(size > 0 ? kCallClasses : 0) {}

void TuningReward::ClassWindows::start() { std::ranges::fill(count_, 0); }

void TuningReward::ClassWindows::add(std::size_t call_class, double value) {
  values_[call_class * size_ + count_[call_class]++ % size_] = value;
}

std::span<const double> TuningReward::ClassWindows::values(std::size_t call_class) const {
  return std::span(values_).subspan(call_class * size_,
                                    std::min<std::size_t>(count_[call_class], size_));
}

TuningReward::TuningReward(const RewardOptions& options)
    : options_(options),
      in_us_(options.kind == RewardKind::NegativeTime || options.kind == RewardKind::AlphaBeta),
      recent_(options.kind == RewardKind::Rolling ? static_cast<std::size_t>(options.window) : 0),
      times_(options.tail_weight > 0 ? kTailCalls : 0),
      sorted_(options.tail_weight > 0 ? kTailCalls : 0) {}

void TuningReward::start() {
  recent_.start();
  times_.start();
  chosen_ = {};
  reference_ = {};
}

double TuningReward::reward(const RewardInput& input) {
  if (options_.kind == RewardKind::StepTime) return step_reward(input);
  double reward = call_reward(input);
  if (options_.fan_out_weight > 0) {
    const double gain = in_us_ ? 1e6 * (input.default_s - input.time_s) : log_speedup_of(input);
    reward += options_.fan_out_weight * input.fan_out * std::max(0.0, gain);
  }
  if (options_.tail_weight > 0) {
    const double scale = in_us_ ? 1e6 * input.typical_s : 1;
    reward -= options_.tail_weight * scale * tail(input);
  }
  if (options_.step_weight > 0) reward += options_.step_weight * step_reward(input);
  return reward;
}

double TuningReward::call_reward(const RewardInput& input) {
  switch (options_.kind) {
    case RewardKind::NegativeTime:
      return -1e6 * input.time_s;
    case RewardKind::AlphaBeta:
      return -1e6 * input.time_s + alpha_beta(input);
    case RewardKind::PairedLogSpeedup:
      return portable_log(input.paired_s / input.time_s);
    case RewardKind::Rolling:
      return rolling(input);
    default:
      return log_speedup_of(input);
  }
}

// The mean is that of calls of one class: that over calls of any size would pay each of them mostly
// for the choices of others.
double TuningReward::rolling(const RewardInput& input) {
  const double log_speedup = log_speedup_of(input);
  recent_.add(input.call_class, log_speedup);
  if (!input.shared_network) return log_speedup;
  double sum = 0;
  const std::span<const double> values = recent_.values(input.call_class);
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// ln(max(x, p99) / median) for the class's last calls, this one among them, where x is the time
// relative to the typical one; 0 before the class has kLeastTailCalls calls. A call beyond the p99
// thus pays for its excess itself, the others for the width of the distribution.
double TuningReward::tail(const RewardInput& input) {
  const double own = input.time_s / input.typical_s;
  times_.add(input.call_class, own);
  const std::span<const double> values = times_.values(input.call_class);
  const std::size_t n = values.size();
  if (n < kLeastTailCalls) return 0;
  std::ranges::copy(values, sorted_.begin());
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(n);
  const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
  const auto high = sorted_.begin() + static_cast<std::ptrdiff_t>((n - 1) * 99 / 100);
  std::nth_element(sorted_.begin(), middle, end);
  const double median = *middle;
  std::nth_element(sorted_.begin(), high, end);
  return portable_log(std::max(own, *high) / median);
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

// Time of the iteration, at its end: the logarithm of its speedup, or in us if calls are paid so.
// Rewards of a job's step add up to that over its calls.
double TuningReward::step_reward(const RewardInput& input) {
  if (input.step_after_s > 0) {
    return in_us_ ? 1e6 * (input.step_before_s - input.step_after_s)
                  : portable_log(input.step_before_s / input.step_after_s);
  }
  chosen_.call(input.context, input.time_s);
  reference_.call(input.context, input.default_s);
  if (!input.context.ends_step) return 0;
  const double reward =
      in_us_ ? -1e6 * chosen_.end_s() : portable_log(reference_.end_s() / chosen_.end_s());
  chosen_ = {};
  reference_ = {};
  return reward;
}

}  // namespace cclgym
