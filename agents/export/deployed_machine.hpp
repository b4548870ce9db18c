// A policy on a machine, for a tuner of NCCL: what it sees there and what it chooses, at a grid of
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

struct DeployedChoices {
  DeployedMachine machine;
  /// By NCCL's number of the collective, then size of the machine's grid.
  std::array<std::vector<std::vector<std::int32_t>>, kNcclCollectiveNames.size()> actions;
  /// Observed calls that took a time that was recorded.
  int recorded_calls = 0;
};

/// Asks the policy at deployed_sizes() of each of NCCL's collectives that it has rules for on the
/// machine of `setup`: each size after the call was made as often as the observation remembers
/// calls, on a machine without noise. A call takes the time that was recorded for it, if there is
/// one (of several the last ones, in their order), else what the simulator says.
///
/// Throws UserError if the policy has no rules for this machine, or sees or chooses other things.
[[nodiscard]] DeployedChoices deployed_choices(const PolicyFile& policy, const TuningSetup& setup,
                                               const RecordedTimes& times = {});

}  // namespace cclgym
