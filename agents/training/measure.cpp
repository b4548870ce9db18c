#include "agents/training/measure.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace cclgym {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t position(const EnvironmentSpec& spec, std::string_view name) {
  const auto found = std::ranges::find(spec.info_names, name);
  return found == spec.info_names.end() ? kNone
                                        : static_cast<std::size_t>(found - spec.info_names.begin());
}

struct Mean {
  double sum = 0;
  std::uint64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] double geometric() const {
    return count > 0 ? std::exp(sum / static_cast<double>(count)) : kNoInfo;
  }
};

std::uint64_t one_pass(const TrainingEnvironment& where) {
  if (!where.setup()) return 0;
  return where.setup()->make_workload()->calls().size();
}

}  // namespace

PolicyMeasure measure_policy(Policy& policy, const TrainingEnvironment& where, std::uint64_t calls,
                             std::uint64_t seed) {
  const std::unique_ptr<Environment> environment = where.make();
  const EnvironmentSpec& spec = environment->spec();
  OwnedBuffers buffers(spec);
  std::vector<std::int32_t> action(spec.action_space.size());
  const std::size_t time = position(spec, CollectiveTuningEnv::kTime);
  const std::size_t oracle = position(spec, CollectiveTuningEnv::kOracle);
  const std::size_t reference = position(spec, CollectiveTuningEnv::kDefault);
  const std::size_t bytes = position(spec, CollectiveTuningEnv::kBytes);
  const std::size_t collective = position(spec, CollectiveTuningEnv::kCollective);
  if (calls == 0) calls = one_pass(where);
  PolicyMeasure measure;
  Mean to_oracle;
  Mean to_default;
  std::map<std::pair<double, double>, Mean> cells;
  double rewards = 0;
  for (bool more = true; more;) {
    if (measure.calls == 0) {
      environment->reset(seed, buffers.view());
    } else {
      environment->reset(std::nullopt, buffers.view());
    }
    policy.begin_episode(*environment, seed);
    for (bool done = false; !done && more;) {
      policy.act(buffers.observation, buffers.action_mask, *environment, action);
      const StepOutcome outcome = environment->step(action, buffers.view());
      done = outcome.done();
      policy.observe({.reward = outcome.reward, .done = done, .info = buffers.info});
      rewards += outcome.reward;
      ++measure.calls;
      more = calls == 0 ? !done : measure.calls < calls;
      if (time == kNone) continue;
      const double time_us = buffers.info[time];
      to_default.add(std::log(time_us / buffers.info[reference]));
      const double best_us = buffers.info[oracle];
      if (std::isnan(best_us)) continue;
      to_oracle.add(std::log(time_us / best_us));
      cells[{buffers.info[collective], buffers.info[bytes]}].add(std::log(time_us / best_us));
    }
  }
  measure.mean_reward = rewards / static_cast<double>(measure.calls);
  measure.oracle_ratio = to_oracle.geometric();
  measure.default_ratio = to_default.geometric();
  measure.worst_cell = kNoInfo;
  for (const auto& [cell, mean] : cells) {
    const double ratio = mean.geometric();
    if (!(measure.worst_cell >= ratio)) measure.worst_cell = ratio;
  }
  return measure;
}

}  // namespace cclgym
