#include "deploy/trigger/trigger_features.hpp"

#include <algorithm>
#include <cmath>

#include "core/hash.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

// All constants are set by hand.
constexpr double kUsualLimit = 4;    // largest deviation of a single call, in sigmas
constexpr double kLargeLimit = 10;   // the same for the tail
constexpr double kFirstP99 = 2.326;  // that a normal distribution has, in sigmas
constexpr double kTailRate = 0.2;
// Least spreads: times of streams without jitter; bytes of other programs' packets.
constexpr double kLeastTime = 1e-3;
constexpr double kLeastBytes = 1e-2;
constexpr double kMostSigma = 1;
// Half of all normal deviations are below this many sigmas.
constexpr double kMedian = 0.6745;
// Step of the logarithm of a spread: 1 / (calls + first), at least the last.
constexpr double kCommonFirst = 3;
constexpr double kCommonLast = 0.005;
constexpr double kOwnFirst = 16;
constexpr double kOwnLast = 0.02;

double log1p_of(double count) { return portable_log(1 + count); }

}  // namespace

TriggerFeatures::TriggerFeatures(double sigma) : sigma_(sigma), kinds_(kKinds), groups_(kGroups) {
  start();
}

void TriggerFeatures::start() {
  std::ranges::fill(kinds_, Kind{});
  std::ranges::fill(groups_, Group{});
  time_ = {.log_sigma = portable_log(sigma_)};
  bytes_ = time_;
  epoch_ = 1;
  calls_ = 0;
}

void TriggerFeatures::forget() {
  ++epoch_;
  calls_ = 0;
}

// Deviation of a value from its mean in sigmas, within +-kLargeLimit. Learns the value: the mean as
// RegimeTrigger does, and the spread by a stochastic median of the absolute deviations, which large
// ones move no further than small ones.
double TriggerFeatures::deviation(Mean& mean, double value, Spread& common, Spread& own,
                                  double least_sigma) {
  if (!std::isfinite(value)) return 0;
  if (mean.count == 0) {
    mean = {.count = 1, .mean = value};
    return 0;
  }
  const double sigma =
      std::clamp(portable_exp(common.log_sigma + own.log_sigma), least_sigma, kMostSigma);
  const double z = std::clamp((value - mean.mean) / (sigma * std::sqrt(1 + 1 / mean.count)),
                              -kLargeLimit, kLargeLimit);
  const double sign = std::abs(z) > kMedian ? 1 : -1;
  common.log_sigma += sign * std::max(kCommonLast, 1 / (common.calls + kCommonFirst));
  own.log_sigma += sign * std::max(kOwnLast, 1 / (own.calls + kOwnFirst));
  // Beyond its bounds a spread would take long to come back.
  const double log_sigma = common.log_sigma + own.log_sigma;
  own.log_sigma +=
      std::clamp(log_sigma, portable_log(least_sigma), portable_log(kMostSigma)) - log_sigma;
  ++common.calls;
  ++own.calls;
  ++mean.count;
  mean.mean += std::clamp(z, -kUsualLimit, kUsualLimit) * sigma / mean.count;
  return z;
}

TriggerFeatureRow TriggerFeatures::observe(const TriggerInput& call) {
  Kind& kind = kinds_[splitmix64_finaliser(call.kind) % kKinds];
  if (kind.epoch != epoch_ || kind.kind != call.kind) kind = {.kind = call.kind, .epoch = epoch_};
  Group& group = groups_[splitmix64_finaliser(call.group) % kGroups];
  if (!group.known || group.group != call.group) {
    group = {.group = call.group, .known = true, .p99 = kFirstP99};
  }
  if (group.epoch != epoch_) {
    group.epoch = epoch_;
    group.calls = 0;
  }
  const double before = kind.time.count;
  const double time = deviation(kind.time, call.log_ratio, time_, group.time, kLeastTime);
  const double bytes =
      call.counted ? deviation(kind.bytes, call.log_bytes, bytes_, group.bytes, kLeastBytes) : 0;
  double tail = 0;
  if (before > 0) {
    group.last[group.calls++ % Group::kLast] = time;
    const std::size_t known = std::min<std::size_t>(group.calls, Group::kLast);
    const auto last = group.last.begin() + static_cast<std::ptrdiff_t>(known);
    tail = std::clamp(*std::max_element(group.last.begin(), last) - group.p99, -kUsualLimit,
                      kUsualLimit);
    group.p99 += kTailRate * ((time > group.p99 ? 1 : 0) - 0.01);
  }
  const double since = calls_++;
  return {std::clamp(time, -kUsualLimit, kUsualLimit) / 2,
          std::clamp(bytes, -kUsualLimit, kUsualLimit) / 2,
          tail / 2,
          log1p_of(since) / 4,
          log1p_of(before) / 2,
          before > 0 ? 0.0 : 1.0};
}

}  // namespace cclgym
