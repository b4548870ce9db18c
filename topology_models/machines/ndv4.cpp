#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// Counts: MSCCLang section 7.
std::shared_ptr<const Fabric> build_ndv4(const FabricParameters& parameters) {
  return build_infiniband_cluster("ndv4",
                                  {.gpu_model = "A100",
                                   .gpus = 8,
                                   .boards = 1,
                                   .nvswitches_a_board = 6,
                                   .nvlinks_a_gpu = 12,  // two to each NVSwitch
                                   .nics = 8,
                                   .nic_Bps = 25e9,  // HDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   .pcie_Bps = 24e9},
                                  parameters);
}

}  // namespace

FabricModel ndv4_model() {
  constexpr double kMostServers = 2048;
  return {
      {.name = "ndv4",
       .description = "Azure NDv4: servers of 8 A100 on NVSwitch, 8 HDR NICs, InfiniBand",
       // 0.35 us: the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {servers_option(kMostServers), gpus_per_server_option(8),
                   bandwidth_option("25 GB/s"), latency_option("0.35us"), nic_binding_option(),
                   oversubscription_option("1"), servers_per_leaf_option(20), sharp_option()},
       .facts = {nvlink_fact(3),
                 {"12 NVLinks a GPU to 6 NVSwitches; two GPUs and two HDR NICs (200 Gb/s) share "
                  "a PCIe switch",
                  "MSCCLang section 7"},
                 pcie_fact(4),
                 {"0.35 us between GPU and NVSwitch", "TE-CCL (alpha of DGX-2)"},
                 infiniband_latency_fact(),
                 {"20 servers share leaf switches",
                  "NVIDIA DGX A100 SuperPOD (scalable unit); Azure's are not published"}}},
      build_ndv4};
}

}  // namespace cclgym
