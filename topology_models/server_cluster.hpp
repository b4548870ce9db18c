// Clusters of equal servers whose GPUs sit on NVSwitches. Internal to this layer.
#pragma once

#include <memory>
#include <string>

#include "topology_models/builders.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// What a server is made of. Its GPUs sit on boards; each board has its own NVSwitches; every two
/// GPUs in turn share a PCIe switch with their NICs.
struct ServerDesign {
  std::string fabric;
  std::string gpu_model;
  int boards = 1;
  int gpus_a_board = 8;            ///< even
  int nvswitches_a_board = 1;      ///< chips that the hardware interleaves: they act as one
  int nvlinks_a_gpu = 1;           ///< units from a GPU to the NVSwitches of its board
  int nvlinks_between_boards = 0;  ///< units between every two boards, all switches together
  int nics_a_gpu_pair = 1;
  double pcie_Bps = 0;  ///< of a PCIe link, one direction
};

/// `parameters.servers` such servers, all NICs on one non-blocking network switch. GPUs, and so
/// ranks, are numbered server by server and board by board. The names of nodes start with
/// "server<k>/" if there are several servers.
[[nodiscard]] std::shared_ptr<const Fabric> build_cluster(const ServerDesign& design,
                                                          const FabricParameters& parameters);

}  // namespace cclgym
