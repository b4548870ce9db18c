// How good a policy is in an environment.
#pragma once

#include <cstdint>

#include "agents/policy.hpp"
#include "agents/training/training_environment.hpp"

namespace cclgym {

/// Over some calls. Ratios are geometric means; NaN where the environment does not say.
struct PolicyMeasure {
  std::uint64_t calls = 0;
  double mean_reward = 0;
  double oracle_ratio = 0;   ///< time / the best possible time
  double worst_cell = 0;     ///< the largest such mean of a cell: a collective of a size
  double default_ratio = 0;  ///< time / the default's time
};

/// Plays `calls` calls (0: one pass over the calls of a finite workload, else an episode), in as
/// many episodes as that takes; the first is reset with `seed`.
[[nodiscard]] PolicyMeasure measure_policy(Policy& policy, const TrainingEnvironment& where,
                                           std::uint64_t calls, std::uint64_t seed);

}  // namespace cclgym
