// Design of a node, and adding nodes to a fabric. Internal to this layer.
#pragma once

#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/servers/builders.hpp"
#include "topology_models/servers/gpu_pair.hpp"

namespace cclgym {

/// A node: GPUs joined by direct links or by NVSwitches, and NICs near some of them.
struct ServerDesign {
  std::string gpu_model;
  HostTraits host{};  ///< a superchip's CPU is Arm in any case
  NetworkKind network = NetworkKind::InfiniBand;
  std::string cost_model{};  ///< Fabric::cost_model
  int gpus = 8;
  std::vector<GpuPair> pairs{};  ///< direct links
  /// Boards of NVSwitches, each with the same number of GPUs; 0: no NVSwitches.
  int boards = 0;
  int nvswitches_a_board = 1;      ///< chips that the hardware interleaves: they act as one
  int nvlinks_a_gpu = 0;           ///< units from a GPU to the NVSwitches of its board
  int nvlinks_between_boards = 0;  ///< units between every two boards, all switches together
  int nics = 1;
  double nic_Bps = 0;  ///< rate to the network in one direction
  /// GPUs that share a PCIe switch, in the order of their numbers; 0: each GPU has direct links to
  /// the NICs that it uses.
  int gpus_a_pcie_switch = 0;
  double pcie_Bps = 0;  ///< rate of a PCIe link in one direction
  /// Rate between the hosts of the PCIe switches (add_hosts) in one direction; 0: no hosts.
  double socket_Bps = 0;
};

/// All pairs of `gpus` GPUs, with `units` units each.
[[nodiscard]] std::vector<GpuPair> all_pairs(int gpus, int units);

/// Adds node number `server`, with the GPUs that `parameters` ask for and all NICs, and returns
/// the NICs. Names start with `prefix`. The NICs have no link to the network yet.
[[nodiscard]] std::vector<NodeId> add_server(FabricBuilder& builder, const ServerDesign& design,
                                             const FabricParameters& parameters, int server,
                                             const std::string& prefix);

/// Links a NIC to a network switch in both directions.
void link_to_network(FabricBuilder& builder, NodeId nic, NodeId network_switch, double nic_Bps);
/// The same, at the bandwidth and latency that `parameters` ask for: a node's Ethernet port.
void link_port(FabricBuilder& builder, NodeId nic, NodeId network_switch,
               const FabricParameters& parameters);

}  // namespace cclgym
