// Machines identified by the labels in a policy file or a dispatch table.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// Machines for which a policy has rules, in the order of the file.
[[nodiscard]] std::vector<std::string> machines_of_policy(const PolicyFile& policy);

/// Collectives for which a policy has rules on one of its machines.
[[nodiscard]] std::vector<std::string> collectives_of_policy(const PolicyFile& policy,
                                                             const std::string& machine);

/// A machine that a user names, and its fabric.
struct NamedMachine {
  std::string label;  ///< as in the policy or the table: "ndv4 nodes=2", "two-islands"
  std::string spec;   ///< as the user names it; the path of a fabric file in place of its name
};

/// The machines among `known` that `wanted` names (none: all), by their labels or, if they are
/// fabric files, by their paths ("my/two-islands.yaml", whose label has the name that the file
/// states). Throws UserError with the nearest label, or that of load_fabric.
[[nodiscard]] std::vector<NamedMachine> named_machines(const std::vector<std::string>& known,
                                                       const std::vector<std::string>& wanted);

/// Fabric of a label or of NamedMachine::spec: "ndv4 nodes=2", "my/fabric.yaml", a path being
/// relative to the current folder. Throws UserError if there is no such fabric; for a name that is
/// not shipped, the message says how to name the file.
[[nodiscard]] FabricSpec fabric_of_label(std::string_view label);

/// Options of the environment in which a policy was trained, apart from the machine, for some
/// collectives. Throws UserError if the policy is for another environment.
[[nodiscard]] std::string options_of_policy(const PolicyFile& policy,
                                            const std::vector<std::string>& collectives);

/// The environment in which a policy was trained, on one of its machines, with a parameter set
/// ("auto": the fabric's own; a file: an absolute path) and without noise. The policy file gives
/// window, tuners, profile and collectives. Throws UserError if the file is for another
/// environment.
[[nodiscard]] std::shared_ptr<const TuningSetup> setup_of_label(
    const PolicyFile& policy, const NamedMachine& machine, const std::string& cost_model = "auto");

}  // namespace cclgym
