// Evaluates a policy on a machine for NCCL's tuner: its observations and choices on a grid of
// sizes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agents/export/deployed_times.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// NCCL's collectives that a tuner is asked about, by NCCL's number.
inline constexpr std::array kDeployedCollectives{
    CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllReduce};

struct DeployedChoices {
  DeployedMachine machine;
  /// Actions by NCCL's number of the collective, then by size of the machine's grid.
  std::array<std::vector<std::vector<std::int32_t>>, kNcclCollectiveNames.size()> actions;
  /// Observed calls with a recorded time.
  int recorded_calls = 0;
};

/// Queries the policy at deployed_sizes() of each NCCL collective for which it has rules on the
/// machine of `setup`. At each size, the call is first repeated without noise, once for every call
/// that the observation remembers. If there are recorded times, the repetitions take the last of
/// them in order; otherwise, the simulator's times are used.
///
/// Throws UserError if the policy has no rules for this machine, or if its observations or actions
/// differ.
[[nodiscard]] DeployedChoices deployed_choices(const PolicyFile& policy, const TuningSetup& setup,
                                               const RecordedTimes& times = {});

}  // namespace cclgym
