// Measures a policy in an environment.
#pragma once

#include <cstdint>

#include "agents/policy.hpp"
#include "agents/training/training_environment.hpp"

namespace cclgym {

/// Averages over calls. Ratios are geometric means; NaN if the environment does not provide them.
struct PolicyMeasure {
  std::uint64_t calls = 0;
  double mean_reward = 0;
  double oracle_ratio = 0;   ///< time / the best possible time
  double worst_cell = 0;     ///< maximum over cells (collective and size) of that mean
  double default_ratio = 0;  ///< time / time of the default
};

/// Plays `calls` calls in as many episodes as needed; the first episode is reset with `seed`. If
/// `calls` is 0, plays one pass over the calls of a finite workload, or an episode of another
/// workload.
[[nodiscard]] PolicyMeasure measure_policy(Policy& policy, const TrainingEnvironment& where,
                                           std::uint64_t calls, std::uint64_t seed);

}  // namespace cclgym
