// From trained weights to a policy file (deploy/runtime/policy_file.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/actions/tuning_action.hpp"

namespace cclgym {

/// Which actions of a collective are legal on a machine.
struct PolicyRules {
  std::string machine;                ///< label of the fabric: "ndv4 servers=2"
  std::string collective;             ///< "allreduce"
  std::vector<std::int32_t> actions;  ///< one behind the other, ascending
};

/// The rules of a machine's actions, of every collective that has legal ones.
[[nodiscard]] std::vector<PolicyRules> policy_rules(const TuningActions& actions,
                                                    const std::string& machine);

/// The file: all that deciding needs, which is all but the critic. Throws std::logic_error where
/// policy_weights_fault finds one, or names or rules do not fit the shape.
[[nodiscard]] PolicyFile to_policy_file(const PolicyWeights& weights,
                                        const std::vector<PolicyRules>& rules);

}  // namespace cclgym
