// Machines by their labels, where only a policy file or a dispatch table names them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// The machines that a policy has rules for, in the order of the file.
[[nodiscard]] std::vector<std::string> machines_of_policy(const PolicyFile& policy);

/// The fabric that a label stands for: "ndv4 servers=2", "my-fabric.yaml". Throws UserError if
/// there is none such.
[[nodiscard]] FabricSpec fabric_of_label(std::string_view label);

/// The environment that a policy was trained for, on the machine of that label, as far as the
/// policy's file says: window, tuners, profile and collectives; without noise, and with the cost
/// model of the fabric. Throws UserError if the file is one for another environment.
[[nodiscard]] std::shared_ptr<const TuningSetup> setup_of_label(const PolicyFile& policy,
                                                                const std::string& label);

}  // namespace cclgym
