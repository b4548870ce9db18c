#include "deploy/trigger/regime_trigger.hpp"

#include <algorithm>
#include <cmath>

#include "core/hash.hpp"

namespace cclgym {

RegimeTrigger::RegimeTrigger(const TriggerParameters& parameters)
    : parameters_(parameters), means_(kMeans) {}

void RegimeTrigger::start() {
  std::ranges::fill(means_, Mean{});
  up_ = 0;
  down_ = 0;
}

bool RegimeTrigger::observe(const TriggerInput& call) {
  Mean& own = means_[splitmix64_finaliser(call.kind) % kMeans];
  if (own.count == 0 || own.kind != call.kind) {
    own = {.kind = call.kind, .count = 1, .mean = call.log_ratio};
    return false;
  }
  const double n = own.count;
  const double z =
      std::clamp((call.log_ratio - own.mean) / (parameters_.sigma * std::sqrt(1 + 1 / n)),
                 -parameters_.limit, parameters_.limit);
  up_ = std::max(0.0, up_ + z - parameters_.drift);
  down_ = std::max(0.0, down_ - z - parameters_.drift);
  if (std::max(up_, down_) > parameters_.threshold) {
    start();
    return true;
  }
  // The deviation is clipped, so that an outlier moves the mean no further than a usual call can.
  ++own.count;
  own.mean += z * parameters_.sigma / (n + 1);
  return false;
}

}  // namespace cclgym
