#include <memory>

#include "topology_models/builders.hpp"
#include "topology_models/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// An HGX H100 with other GPUs on the same boards.
std::shared_ptr<const Fabric> build(const FabricParameters& parameters) {
  return build_infiniband_cluster("h200",
                                  {.gpu_model = "H200",
                                   .gpus = 8,
                                   .boards = 1,
                                   .nvswitches_a_board = 4,
                                   .nvlinks_a_gpu = 18,
                                   .nics = 8,
                                   .nic_Bps = 50e9,  // NDR InfiniBand
                                   .gpus_a_pcie_switch = 1,
                                   .pcie_Bps = 48e9},
                                  parameters);
}

}  // namespace

FabricModel h200_model() {
  constexpr double kMostServers = 2048;
  return {
      {.name = "h200",
       .description = "NVIDIA HGX H200: servers of 8 H200 on NVSwitch, 8 NDR NICs, InfiniBand",
       // 0.35 us: the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {servers_option(kMostServers), gpus_per_server_option(8),
                   bandwidth_option("25 GB/s"), latency_option("0.35us"), nic_binding_option(),
                   oversubscription_option("1"), servers_per_leaf_option(32)},
       .facts = {nvlink_fact(4),
                 {"18 NVLinks a GPU to 4 NVSwitches: 450 GB/s a direction",
                  "NVIDIA H200 data sheet (the links are those of the H100)"},
                 {"each GPU shares a PCIe switch with a ConnectX-7 NIC of 400 Gb/s",
                  "NVIDIA DGX H100 user guide"},
                 pcie_fact(5),
                 {"0.35 us between GPU and NVSwitch",
                  "TE-CCL (alpha of DGX-2), for want of one of this NVSwitch"},
                 infiniband_latency_fact(),
                 {"32 servers share leaf switches", "NVIDIA DGX H100 SuperPOD (scalable unit)"}}},
      build};
}

}  // namespace cclgym
