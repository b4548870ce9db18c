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

/// Fabric of a label: "ndv4 servers=2", "my-fabric.yaml". Throws UserError if there is no such
/// fabric.
[[nodiscard]] FabricSpec fabric_of_label(std::string_view label);

/// The environment in which a policy was trained, on the machine with this label, with a parameter
/// set ("auto": the fabric's own; a file: an absolute path) and without noise. The policy file
/// gives window, tuners, profile and collectives. Throws UserError if the file is for another
/// environment.
[[nodiscard]] std::shared_ptr<const TuningSetup> setup_of_label(
    const PolicyFile& policy, const std::string& label, const std::string& cost_model = "auto");

}  // namespace cclgym
