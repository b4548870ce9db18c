// How the machine of a measured row differs from the fabric that simulates it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/measured/measured_file.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Facts of the row's run that a simulation on the fabric leaves out: other GPUs, another network,
/// or another NCCL_CROSS_NIC than `crosses_nics` (FabricSpec::cross_nic; nullopt: not simulated).
[[nodiscard]] std::vector<std::string> fabric_differences(const Measurement& row,
                                                          const Fabric& fabric,
                                                          std::optional<bool> crosses_nics);

}  // namespace cclgym
