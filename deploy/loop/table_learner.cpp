#include "deploy/loop/table_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cclgym {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
// Older calls count less: an estimate follows slow changes.
constexpr double kMostCount = 20;
// A single call that is further from the others, in standard deviations, is an outlier.
constexpr double kMostDeviation = 3;
// Share of the latest call in the estimate of the noise.
constexpr double kNoiseRate = 0.05;
constexpr double kLeastNoise = 0.01;  // standard deviation of ln(time)
// Standard deviation of ln(time) and ln(bytes) of a call between two states of the machine.
constexpr double kStateDeviation = 0.5;
// A new state must be likelier than the known ones by this factor, as a logarithm.
constexpr double kNewStatePenalty = 2;
constexpr std::size_t kMostStates = 32;
// Standard deviation of ln(bytes) of equal calls in one state.
constexpr double kBytesDeviation = 0.1;
// Standard deviation of what the times of a class have in common when the state changes.
constexpr double kClassDeviation = 1;

constexpr double kOutlier = 2;
// Calls before an alarm from which nothing is learned: they may have met the new state already. A
// class learns from its last call before the next one if there are more classes than that.
constexpr std::size_t kMostDelay = 6;

double square(double x) { return x * x; }

}  // namespace

double usual_time(std::span<const double> times) {
  std::vector<double> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  const double most = kOutlier * sorted[(sorted.size() - 1) / 2];
  double sum = 0;
  for (const double time : sorted) sum += std::min(time, most);
  return sum / static_cast<double>(sorted.size());
}

TableLearner::TableLearner(const std::vector<std::vector<double>>& prior_s,
                           const LearnerOptions& options)
    : options_(options),
      detector_(options.learned ? ChangeDetector(*options.learned)
                                : ChangeDetector(options.times, options.bytes)),
      states_(1) {
  for (const std::vector<double>& of_class : prior_s) add_class(of_class);
}

void TableLearner::add_class(const std::vector<double>& prior_s) {
  double best = kUnknown;
  for (const double time_s : prior_s) {
    if (time_s > 0 && std::isfinite(time_s)) best = std::min(best, std::log(time_s));
  }
  if (best == kUnknown) throw std::invalid_argument("TableLearner: a class has no known time");
  std::vector<Estimate> estimates;
  for (const double time_s : prior_s) {
    const bool known = time_s > 0 && std::isfinite(time_s);
    const bool tried = known && std::log(time_s) <= best + options_.widest;
    estimates.push_back({.prior = tried ? std::log(time_s) : kUnknown});
  }
  const auto first = std::ranges::min_element(estimates, {}, &Estimate::prior);
  table_.push_back(static_cast<std::uint16_t>(first - estimates.begin()));
  for (State& state : states_) state.push_back(estimates);
  noise_.push_back(square(options_.noise));
  delay_ = std::min(kMostDelay, table_.size() - 1);
}

// Difference of a class's times from the prior: the mean over its measured configurations,
// weighted by what is known of them.
TableLearner::Belief TableLearner::class_shift(const State& state, std::size_t group) const {
  double weights = 1 / square(kClassDeviation);
  double sum = 0;
  for (const Estimate& one : state[group]) {
    if (one.count == 0) continue;
    const double weight = 1 / (square(options_.prior_deviation) + noise_[group] / one.count);
    weights += weight;
    sum += weight * (one.center - one.prior);
  }
  return {.mean = sum / weights, .variance = 1 / weights};
}

TableLearner::Belief TableLearner::belief(const State& state, std::size_t group,
                                          std::size_t config) const {
  const Estimate& one = state[group][config];
  const Belief shift = class_shift(state, group);
  const double certainty = 1 / (square(options_.prior_deviation) + shift.variance);
  const double measured = one.count / noise_[group];
  return {.mean = (certainty * (one.prior + shift.mean) + measured * one.center) /
                  (certainty + measured),
          .variance = 1 / (certainty + measured)};
}

bool TableLearner::observe(const LearnerCall& call) {
  if (call.group >= table_.size() || call.config >= states_.front()[call.group].size()) {
    return false;
  }
  if (!(call.time_s > 0) || states_.front()[call.group][call.config].prior == kUnknown) {
    return false;
  }
  const std::uint64_t kind = call.group * 65536 + call.config;
  const bool counted = call.bytes > 0;
  if (detector_.observe({.kind = kind,
                         .log_ratio = std::log(call.time_s),
                         .group = call.group,
                         .counted = counted,
                         .log_bytes = counted ? std::log(call.bytes) : 0})) {
    ++alarms_;
    recognising_ = true;
    unassigned_.clear();
    recent_.clear();
  }
  if (!recognising_) {
    recent_.push_back(call);
    if (recent_.size() <= delay_) return false;
    const LearnerCall settled = recent_.front();
    recent_.pop_front();
    learn(settled);
    return !options_.frozen && choose(settled.group);
  }
  unassigned_.push_back(call);
  if (unassigned_.size() < static_cast<std::size_t>(options_.recognition_calls)) return false;
  recognise();
  if (options_.frozen) return false;
  bool changed = false;
  for (std::size_t group = 0; group < table_.size(); ++group) changed = choose(group) || changed;
  return changed;
}

void TableLearner::learn(const LearnerCall& call) {
  Estimate& one = states_[state_][call.group][call.config];
  const double log_time = std::log(call.time_s);
  double& noise = noise_[call.group];
  if (one.calls > 0) {
    const double most = kMostDeviation * std::sqrt(noise);
    const double deviation = std::clamp(log_time - one.center, -most, most);
    noise += kNoiseRate * (square(deviation) * one.count / (one.count + 1) - noise);
    noise = std::max(noise, square(kLeastNoise));
  }
  one.last[one.calls++ % one.last.size()] = call.time_s;
  one.count = std::min(one.count + 1, kMostCount);
  one.center =
      std::log(usual_time(std::span(one.last).first(std::min(one.calls, one.last.size()))));
  if (call.bytes > 0) {
    one.bytes_count = std::min(one.bytes_count + 1, kMostCount);
    one.bytes += (std::log(call.bytes) - one.bytes) / one.bytes_count;
  }
}

// Decides to which state the calls since the alarm belong, and learns from them.
void TableLearner::recognise() {
  std::size_t best = 0;
  double most = -kUnknown;
  for (std::size_t state = 0; state < states_.size(); ++state) {
    const double own = log_likelihood(states_[state], 0);
    if (own > most) {
      most = own;
      best = state;
    }
  }
  if (states_.size() < kMostStates &&
      log_likelihood(states_[best], kStateDeviation) > most + kNewStatePenalty) {
    states_.push_back(new_state(states_[best]));
    best = states_.size() - 1;
  }
  state_ = best;
  recognising_ = false;
  for (const LearnerCall& call : unassigned_) learn(call);
  unassigned_.clear();
}

// Logarithm of the likelihood of the calls since the alarm, up to a constant, if times and bytes
// are those of a state apart from a difference with the standard deviation `apart`. Student's t
// with four degrees of freedom: late calls do not decide.
double TableLearner::log_likelihood(const State& state, double apart) const {
  constexpr double kFreedom = 4;
  double sum = 0;
  const auto add = [&](double deviation, double variance) {
    variance += square(apart);
    sum -= 0.5 * std::log(variance) +
           0.5 * (kFreedom + 1) * std::log1p(square(deviation) / variance / kFreedom);
  };
  for (const LearnerCall& call : unassigned_) {
    const Estimate& one = state[call.group][call.config];
    const Belief own = belief(state, call.group, call.config);
    add(std::log(call.time_s) - own.mean, own.variance + noise_[call.group]);
    if (call.bytes > 0 && one.bytes_count > 0) {
      add(std::log(call.bytes) - one.bytes, square(kBytesDeviation));
    }
  }
  return sum;
}

// A state whose prior is what is known of another one.
TableLearner::State TableLearner::new_state(const State& like) const {
  State next = like;
  for (std::size_t group = 0; group < next.size(); ++group) {
    for (std::size_t config = 0; config < next[group].size(); ++config) {
      Estimate& one = next[group][config];
      if (one.prior != kUnknown) one = {.prior = belief(like, group, config).mean};
    }
  }
  return next;
}

// Returns true if the class gets another configuration.
bool TableLearner::choose(std::size_t group) {
  const State& state = states_[state_];
  const auto score = [&](std::size_t config) {
    const Belief own = belief(state, group, config);
    return own.mean - options_.optimism * std::sqrt(own.variance);
  };
  std::size_t best = table_[group];
  double least = score(best);
  for (std::size_t config = 0; config < state[group].size(); ++config) {
    if (state[group][config].prior == kUnknown) continue;
    const double own = score(config);
    if (own < least) {
      least = own;
      best = config;
    }
  }
  if (best == table_[group]) return false;
  table_[group] = static_cast<std::uint16_t>(best);
  return true;
}

}  // namespace cclgym
