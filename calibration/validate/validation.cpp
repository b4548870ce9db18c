#include "calibration/validate/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/validate/validation_rows.hpp"
#include "core/error.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr int kResamples = 2000;

double median_of(const std::map<int, double>& times_s) {
  std::vector<double> values;
  for (const auto& [round, time_s] : times_s) values.push_back(time_s);
  return quartiles_of(std::move(values)).median;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::size_t pick(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1));
}

double resampled_mean(const std::vector<double>& values, Random& random) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[pick(random, values.size())];
  return sum / static_cast<double>(values.size());
}

// Returns exp of the mean logarithm, and of the 2.5 % and 97.5 % quantiles of the resampled means.
PairedRatio ratio_of(double log_mean, std::vector<double> means) {
  std::ranges::sort(means);
  const auto at = [&](double share) {
    return std::exp(means[static_cast<std::size_t>(share * static_cast<double>(means.size() - 1))]);
  };
  return {.mean = std::exp(log_mean), .low = at(0.025), .high = at(0.975)};
}

// Returns the ratio of one call; its interval comes from resampled rounds.
PairedRatio call_ratio(const std::vector<double>& ratios, Random& random) {
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) means.push_back(resampled_mean(ratios, random));
  return ratio_of(mean_of(ratios), std::move(means));
}

// Returns the ratio over several calls, at least one; its interval comes from resampled calls and,
// within those, resampled rounds.
PairedRatio calls_ratio(const std::vector<std::vector<double>>& calls, Random& random) {
  std::vector<double> means;
  for (const auto& ratios : calls) means.push_back(mean_of(ratios));
  std::vector<double> resampled;
  for (int i = 0; i < kResamples; ++i) {
    double total = 0;
    for (std::size_t call = 0; call < calls.size(); ++call) {
      total += resampled_mean(calls[pick(random, calls.size())], random);
    }
    resampled.push_back(total / static_cast<double>(calls.size()));
  }
  return ratio_of(mean_of(means), std::move(resampled));
}

// ln(time of a configuration / time of another) for the rounds that have both; empty if one was not
// measured.
std::vector<double> log_ratios(const CallRows& call, const std::string& way,
                               const std::string& over) {
  std::vector<double> ratios;
  const auto times_s = call.times_s.find(way);
  const auto base_s = call.times_s.find(over);
  if (times_s == call.times_s.end() || base_s == call.times_s.end()) return ratios;
  const std::map<int, double>& base = base_s->second;
  for (const auto& [round, time_s] : times_s->second) {
    const auto other = base.find(round);
    if (other != base.end()) ratios.push_back(std::log(time_s / other->second));
  }
  return ratios;
}

ValidatedCall validated(const CallKey& key, const CallRows& call, const std::vector<double>& ratios,
                        Random& random) {
  ValidatedCall result;
  result.collective = key.first;
  result.bytes = key.second;
  result.chosen = call.text_of(call.chosen);
  result.chosen_s = median_of(call.times_s.at(call.chosen));
  result.default_s = median_of(call.times_s.at(call.by_default));
  result.best_s = result.chosen_s;
  result.best = result.chosen;
  for (const auto& [config, times_s] : call.times_s) {
    const double time_s = median_of(times_s);
    if (time_s >= result.best_s) continue;
    result.best_s = time_s;
    result.best = call.text_of(config);
  }
  result.ratio = call_ratio(ratios, random);
  result.rounds = static_cast<int>(ratios.size());
  result.configs = static_cast<int>(call.times_s.size());
  return result;
}

// Compares with the sweep's best, the baseline that needs no agent, on calls where it is known.
// Uses its own random stream, so that the intervals of the choice are the same with and without a
// sweep.
void compare_with_sweep(Validation& part, const std::map<CallKey, CallRows>& rows,
                        std::uint64_t seed) {
  Random random = Random::stream(seed, {0x5eeb});
  std::vector<std::vector<double>> over_default;
  std::vector<std::vector<double>> of_chosen;
  for (ValidatedCall& done : part.calls) {
    const CallRows& call = rows.at({done.collective, done.bytes});
    if (call.swept.empty()) continue;
    const std::vector<double> own = log_ratios(call, call.swept, call.by_default);
    const std::vector<double> chosen = log_ratios(call, call.chosen, call.swept);
    if (own.empty() || chosen.empty()) continue;
    done.swept = call.text_of(call.swept);
    done.swept_ratio = call_ratio(own, random);
    over_default.push_back(own);
    of_chosen.push_back(chosen);
    const bool near = median_of(call.times_s.at(call.swept)) <= 1.1 * done.best_s;
    part.swept_within_tenth += near ? 1 : 0;
  }
  part.swept_calls = over_default.size();
  if (part.swept_calls == 0) return;
  part.swept_within_tenth /= static_cast<double>(part.swept_calls);
  part.swept_ratio = calls_ratio(over_default, random);
  part.chosen_over_swept = calls_ratio(of_chosen, random);
}

}  // namespace

const ValidatedCall& Validation::worst() const {
  return *std::ranges::max_element(calls, {},
                                   [](const ValidatedCall& call) { return call.ratio.mean; });
}

SweepPlan validation_plan(const MpiSweep& sweep, const TextMap& environment,
                          const std::vector<ValidationCall>& calls, int rounds) {
  std::vector<std::vector<ValidationLane>> lanes;
  for (const ValidationCall& call : calls) {
    std::vector<ValidationLane> own;
    for (const MpiConfig& config : call.configs) {
      own.push_back({mpi_cell(sweep, environment, call.collective, call.bytes, config),
                     {.chosen = config == call.chosen,
                      .by_default = config.algorithm == kMpiDefault,
                      .swept = config == call.swept}});
    }
    lanes.push_back(std::move(own));
  }
  return interleaved_plan(mpi_columns(), lanes, rounds);
}

Validation read_validation(const std::string& path, const std::string& label, std::uint64_t seed) {
  Validation part{.label = label, .calls = {}};
  Random random = Random::stream(seed, {0x7a11d});
  std::vector<std::vector<double>> ratios;
  double sum = 0;
  double default_sum = 0;
  const ValidationRows read = read_validation_rows(path);
  const std::map<CallKey, CallRows>& rows = read.calls;
  part.one_gpu = read.one_gpu;
  for (const auto& [key, call] : rows) {
    if (call.chosen.empty() || call.by_default.empty()) continue;
    const std::vector<double> own = log_ratios(call, call.chosen, call.by_default);
    if (own.empty()) continue;
    ratios.push_back(own);
    part.calls.push_back(validated(key, call, own, random));
    const ValidatedCall& done = part.calls.back();
    sum += std::log(done.over_best());
    default_sum += std::log(done.default_s / done.best_s);
    part.within_tenth += done.over_best() <= 1.1 ? 1 : 0;
    if (!call.followed.empty()) ++part.followed[call.followed];
    part.default_within_tenth += done.default_s <= 1.1 * done.best_s ? 1 : 0;
  }
  if (part.calls.empty()) {
    throw UserError({path, 0, 0}, "has no call with rows of the choice and of the default");
  }
  const auto count = static_cast<double>(part.calls.size());
  part.over_best = std::exp(sum / count);
  part.default_over_best = std::exp(default_sum / count);
  part.within_tenth /= count;
  part.default_within_tenth /= count;
  part.ratio = calls_ratio(ratios, random);
  compare_with_sweep(part, rows, seed);
  return part;
}

}  // namespace cclgym
