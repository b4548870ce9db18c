// Converts trained weights to a policy file (deploy/runtime/policy_file.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/actions/tuning_action.hpp"

namespace cclgym {

/// Legal actions of a collective on a machine.
struct PolicyRules {
  std::string machine;                ///< label of the fabric: "ndv4 nodes=2"
  std::string collective;             ///< name, such as "allreduce"
  std::vector<std::int32_t> actions;  ///< concatenated, in ascending order
};

/// Rules of a machine, one for every collective with legal actions.
[[nodiscard]] std::vector<PolicyRules> policy_rules(const TuningActions& actions,
                                                    const std::string& machine);

/// Policy file with everything that decisions need, which is all except the critic. Throws
/// std::logic_error if policy_weights_fault finds a fault, or if names or rules do not match the
/// shape.
[[nodiscard]] PolicyFile to_policy_file(const PolicyWeights& weights,
                                        const std::vector<PolicyRules>& rules);

}  // namespace cclgym
