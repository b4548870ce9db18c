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
// A single call moves an estimate by at most this, as a difference of logarithms.
constexpr double kMostDeviation = 0.3;
// Share of the latest call in the estimate of the noise.
constexpr double kNoiseRate = 0.05;
// Mean squared deviation of calls from a known state, in units of what is expected, from which on
// the state is another one. It is 1 if the state is the same; deviations are limited to 3.
constexpr double kMostMisfit = 2.5;
constexpr double kMostSquare = 9;
// Standard deviation of ln(bytes) of equal calls in one state.
constexpr double kBytesDeviation = 0.1;
// Standard deviation of ln(time) of a class that a state has not met.
constexpr double kClassDeviation = 0.5;

double square(double x) { return x * x; }

}  // namespace

TableLearner::TableLearner(const std::vector<std::vector<double>>& prior_s,
                           const LearnerOptions& options)
    : options_(options), times_(options.times), bytes_(options.bytes) {
  State first(prior_s.size());
  for (std::size_t group = 0; group < prior_s.size(); ++group) {
    double best = kUnknown;
    for (const double time_s : prior_s[group]) {
      if (time_s > 0 && std::isfinite(time_s)) best = std::min(best, std::log(time_s));
    }
    if (best == kUnknown) throw std::invalid_argument("TableLearner: a class has no known time");
    for (const double time_s : prior_s[group]) {
      const bool known = time_s > 0 && std::isfinite(time_s);
      const bool tried = known && std::log(time_s) <= best + options_.widest;
      first[group].push_back({.prior = tried ? std::log(time_s) : kUnknown});
    }
  }
  noise_.assign(prior_s.size(), square(options_.noise));
  states_.push_back(std::move(first));
  for (std::size_t group = 0; group < prior_s.size(); ++group) {
    const auto& estimates = states_.front()[group];
    const auto best = std::ranges::min_element(estimates, {}, &Estimate::prior);
    table_.push_back(static_cast<std::uint16_t>(best - estimates.begin()));
  }
}

// Mean difference of a class's measured times from the prior, weighted by what is known of them.
double TableLearner::class_shift(const State& state, std::size_t group) const {
  double weights = 0;
  double sum = 0;
  for (const Estimate& one : state[group]) {
    if (one.count == 0) continue;
    const double weight = 1 / (square(options_.prior_deviation) + noise_[group] / one.count);
    weights += weight;
    sum += weight * (one.mean - one.prior);
  }
  return weights > 0 ? sum / weights : 0;
}

TableLearner::Belief TableLearner::belief(const State& state, std::size_t group,
                                          std::size_t config) const {
  const Estimate& one = state[group][config];
  const double prior = one.prior + class_shift(state, group);
  const double certainty = 1 / square(options_.prior_deviation);
  const double measured = one.count / noise_[group];
  return {.mean = (certainty * prior + measured * one.mean) / (certainty + measured),
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
  bool alarm = times_.observe({.kind = kind, .log_ratio = std::log(call.time_s)});
  if (call.bytes > 0) {
    alarm = bytes_.observe({.kind = kind, .log_ratio = std::log(call.bytes)}) || alarm;
  }
  if (alarm) {
    ++alarms_;
    times_.start();
    bytes_.start();
    recognising_ = true;
    unassigned_.clear();
  }
  if (!recognising_) {
    learn(call);
    return !options_.frozen && choose(call.group);
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
  if (one.count == 0) {
    one.mean = log_time;
    one.count = 1;
  } else {
    const double deviation = std::clamp(log_time - one.mean, -kMostDeviation, kMostDeviation);
    double& noise = noise_[call.group];
    noise += kNoiseRate * (square(deviation) * one.count / (one.count + 1) - noise);
    one.count = std::min(one.count + 1, kMostCount);
    one.mean += deviation / one.count;
  }
  if (call.bytes > 0) {
    one.bytes_count = std::min(one.bytes_count + 1, kMostCount);
    one.bytes += (std::log(call.bytes) - one.bytes) / one.bytes_count;
  }
}

// Decides to which state the calls since the alarm belong, and learns from them.
void TableLearner::recognise() {
  std::size_t best = 0;
  double least = kUnknown;
  for (std::size_t state = 0; state < states_.size(); ++state) {
    const double own = misfit(states_[state]);
    if (own < least) {
      least = own;
      best = state;
    }
  }
  if (least > kMostMisfit) {
    states_.push_back(new_state());
    best = states_.size() - 1;
  }
  state_ = best;
  recognising_ = false;
  for (const LearnerCall& call : unassigned_) learn(call);
  unassigned_.clear();
}

// Mean squared deviation of the calls since the alarm from a state, in units of what is expected.
double TableLearner::misfit(const State& state) const {
  double sum = 0;
  double terms = 0;
  for (const LearnerCall& call : unassigned_) {
    const Estimate& one = state[call.group][call.config];
    const bool met =
        std::ranges::any_of(state[call.group], [](const Estimate& each) { return each.count > 0; });
    const Belief own = belief(state, call.group, call.config);
    const double variance = own.variance + noise_[call.group] + (met ? 0 : square(kClassDeviation));
    sum += std::min(square(std::log(call.time_s) - own.mean) / variance, kMostSquare);
    ++terms;
    if (call.bytes > 0 && one.bytes_count > 0) {
      sum += std::min(square((std::log(call.bytes) - one.bytes) / kBytesDeviation), kMostSquare);
      ++terms;
    }
  }
  return terms > 0 ? sum / terms : 0;
}

// A state whose prior is what is known of the present one.
TableLearner::State TableLearner::new_state() const {
  State next = states_[state_];
  for (std::size_t group = 0; group < next.size(); ++group) {
    for (std::size_t config = 0; config < next[group].size(); ++config) {
      Estimate& one = next[group][config];
      if (one.prior != kUnknown) one = {.prior = belief(states_[state_], group, config).mean};
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
