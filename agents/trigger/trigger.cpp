#include "agents/trigger/trigger.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "agents/training/learned_policy.hpp"

namespace cclgym {

namespace {

// Quantile of some numbers, which are sorted in place.
double quantile(std::vector<double>& numbers, double share) {
  if (numbers.empty()) return std::numeric_limits<double>::infinity();
  const auto place = static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1));
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(place),
                   numbers.end());
  return numbers[place];
}

// A call and the action taken for it.
struct MadeCall {
  Call call;
  std::vector<std::int32_t> action;
};

// For each regime, the first regime that no call can distinguish from it.
std::vector<std::uint32_t> told_apart(CollectiveTuningEnv& environment,
                                      const std::map<std::uint64_t, MadeCall>& made) {
  const std::vector<std::size_t>& condition_of = environment.setup().condition_of;
  const std::size_t regimes = condition_of.size();
  std::vector<std::vector<double>> apart(regimes, std::vector<double>(regimes, 0));
  std::vector<double> time_s(regimes);
  for (const auto& [kind, one] : made) {
    for (std::size_t i = 0; i < regimes; ++i) {
      time_s[i] = environment.oracle().time(one.call, one.action, condition_of[i]).time_s;
      for (std::size_t j = 0; j < i; ++j) {
        apart[i][j] = std::max(apart[i][j], std::abs(std::log(time_s[i] / time_s[j])));
      }
    }
  }
  std::vector<std::uint32_t> alike(regimes);
  for (std::size_t i = 0; i < regimes; ++i) {
    alike[i] = static_cast<std::uint32_t>(i);
    for (std::size_t j = i; j-- > 0;) {
      if (apart[i][j] <= std::log1p(kSilentShare)) alike[i] = alike[j];
    }
  }
  return alike;
}

}  // namespace

TriggerInput trigger_input(const Call& call, std::span<const std::int32_t> action, double time_us,
                           double expected_us) {
  const std::uint64_t group = static_cast<std::uint64_t>(call.collective) * 64 +
                              static_cast<std::uint64_t>(std::bit_width(call.bytes));
  std::uint64_t kind = group;
  for (const std::int32_t level : action) kind = kind * 37 + static_cast<std::uint64_t>(level);
  return {.kind = kind, .log_ratio = std::log(time_us / expected_us), .group = group};
}

TriggerStream record_stream(const TrainingEnvironment& where, Policy& policy, std::size_t calls,
                            std::uint64_t seed) {
  if (!where.setup()) throw std::logic_error("record_stream: not CollectiveTuning-v0");
  CollectiveTuningEnv environment(where.setup());
  const EnvironmentSpec& spec = environment.spec();
  OwnedBuffers buffers(spec);
  std::vector<std::int32_t> action(spec.action_space.size());
  const std::size_t time = info_index(spec, CollectiveTuningEnv::kTime);
  const std::size_t expected = info_index(spec, CollectiveTuningEnv::kExpected);
  const std::size_t regime = info_index(spec, CollectiveTuningEnv::kRegime);
  TriggerStream stream;
  std::map<std::uint64_t, MadeCall> made;  // one call of each kind
  bool done = true;
  while (stream.calls.size() < calls) {
    if (done && !stream.calls.empty()) break;  // one stream per episode: the machine restarts
    if (done) {
      environment.reset(seed, buffers.view());
      policy.begin_episode(environment, seed);
    }
    const Call call = environment.next_call().call;
    policy.act(buffers.observation, buffers.action_mask, environment, action);
    const StepOutcome outcome = environment.step(action, buffers.view());
    done = outcome.done();
    policy.observe({.reward = outcome.reward, .done = done, .info = buffers.info});
    stream.calls.push_back(trigger_input(call, action, buffers.info[time], buffers.info[expected]));
    stream.regimes.push_back(static_cast<std::uint32_t>(buffers.info[regime]));
    made.try_emplace(stream.calls.back().kind, MadeCall{call, action});
  }
  const std::vector<std::uint32_t> alike = told_apart(environment, made);
  for (std::size_t t = 1; t < stream.regimes.size(); ++t) {
    const std::uint32_t before = stream.regimes[t - 1];
    const std::uint32_t now = stream.regimes[t];
    if (now != before && alike[now] == alike[before]) ++stream.silent_changes;
  }
  for (std::uint32_t& one : stream.regimes) one = alike[one];
  return stream;
}

TriggerMeasure measure_detector(ChangeDetector detector, std::span<const TriggerStream> streams) {
  TriggerMeasure measure;
  std::vector<double> delays;
  for (const TriggerStream& stream : streams) {
    detector.start();
    measure.silent_changes += stream.silent_changes;
    std::size_t changed_at = 0;
    bool pending = false;
    for (std::size_t t = 0; t < stream.calls.size(); ++t) {
      if (t > 0 && stream.regimes[t] != stream.regimes[t - 1]) {
        if (pending) delays.push_back(std::numeric_limits<double>::infinity());
        ++measure.changes;
        changed_at = t;
        pending = true;
      }
      ++measure.calls;
      if (!detector.observe(stream.calls[t])) continue;
      if (pending) {
        delays.push_back(static_cast<double>(t - changed_at + 1));
        ++measure.found;
        pending = false;
      } else {
        ++measure.false_alarms;
      }
    }
    if (pending) delays.push_back(std::numeric_limits<double>::infinity());
  }
  measure.median_delay = quantile(delays, 0.5);
  measure.p90_delay = quantile(delays, 0.9);
  return measure;
}

TriggerMeasure measure_trigger(const TriggerParameters& parameters,
                               std::span<const TriggerStream> streams) {
  return measure_detector(ChangeDetector(parameters), streams);
}

double spread_within_regimes(std::span<const TriggerStream> streams) {
  std::vector<double> apart;
  for (const TriggerStream& stream : streams) {
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<double>> groups;
    for (std::size_t t = 0; t < stream.calls.size(); ++t) {
      groups[{stream.calls[t].kind, stream.regimes[t]}].push_back(stream.calls[t].log_ratio);
    }
    for (auto& [key, ratios] : groups) {
      if (ratios.size() < 4) continue;
      std::vector<double> sorted = ratios;
      const double middle = quantile(sorted, 0.5);
      for (const double ratio : ratios) apart.push_back(std::abs(ratio - middle));
    }
  }
  constexpr double kLeastSigma = 1e-3;  // lower bound, for streams without jitter
  const double spread = apart.empty() ? 0 : 1.4826 * quantile(apart, 0.5);
  return std::max(kLeastSigma, spread);
}

TriggerParameters train_trigger(std::span<const TriggerStream> streams,
                                double false_alarms_per_1000) {
  TriggerParameters best;
  best.sigma = spread_within_regimes(streams);
  double best_score = std::numeric_limits<double>::infinity();
  for (const double drift : {0.5, 1.0, 1.5, 2.0}) {
    for (const double limit : {3.0, 4.0, 6.0}) {
      for (const double above : {0.5, 2.0, 4.0, 6.0, 9.0, 13.0}) {
        const TriggerParameters tried{.sigma = best.sigma,
                                      .drift = drift,
                                      .limit = limit,
                                      .threshold = limit - drift + above};
        const TriggerMeasure measure = measure_trigger(tried, streams);
        if (measure.false_alarms_per_1000() >= false_alarms_per_1000) continue;
        const double missed = static_cast<double>(measure.changes - measure.found) /
                              static_cast<double>(std::max<std::size_t>(1, measure.changes));
        // A change that is never found is weighted like about twenty calls of delay.
        const double score = std::min(measure.median_delay, 1e3) + 20 * missed;
        if (score < best_score) {
          best_score = score;
          best = tried;
        }
      }
    }
  }
  return best;
}

}  // namespace cclgym
