// The path of NCCL's SHM transport in a node of two CPU sockets. Internal to this layer.
#pragma once

#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// Adds the hosts to which PCIe switches are linked at `pcie_Bps`, two switches each, and the link
/// between the hosts (one pair of sockets: up to four switches). Names start with `prefix`.
void add_hosts(FabricBuilder& builder, const std::vector<NodeId>& pcie_switches, double pcie_Bps,
               int server, const std::string& prefix);

/// Sources of add_hosts() for a DGX-1, and of the choice between hosts and an intermediate GPU.
[[nodiscard]] std::vector<FabricFact> host_facts();

}  // namespace cclgym
