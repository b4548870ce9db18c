// PCIe and hosts in a node of two CPU sockets: the paths of NCCL's transports P2P and SHM between
// GPUs without NVLinks. Internal to this layer.
#pragma once

#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// The hosts of a node.
struct HostDesign {
  int devices_a_host = 2;  ///< devices with a PCIe link to the same host, in their order
  double pcie_Bps = 0;     ///< rate of these links in one direction
  double socket_Bps = 0;   ///< rate of the link between two hosts in one direction
};

/// Adds the hosts to which `devices` (PCIe switches, or GPUs without them) are linked, and links
/// between successive hosts. Names start with `prefix`.
void add_hosts(FabricBuilder& builder, const HostDesign& design, const std::vector<NodeId>& devices,
               int server, const std::string& prefix);

/// Value of Fabric::max_relays() of NCCL: an intermediate GPU, as option nvb says.
[[nodiscard]] int nvb_relays(bool nvb);

/// Sources of the rules for GPUs without a common NVLink, and of add_hosts()' latencies.
[[nodiscard]] std::vector<FabricFact> host_facts();

}  // namespace cclgym
