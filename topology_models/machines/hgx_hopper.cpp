#include <memory>
#include <string>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// HGX H100 and HGX H200 are one board with different memory on its GPUs.
std::shared_ptr<const Fabric> build_hgx_hopper(const char* name, const char* gpu_model,
                                               const FabricParameters& parameters) {
  return build_infiniband_cluster(name,
                                  {.gpu_model = gpu_model,
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

std::shared_ptr<const Fabric> build_h100(const FabricParameters& parameters) {
  return build_hgx_hopper("hgx-h100", "H100", parameters);
}

std::shared_ptr<const Fabric> build_h200(const FabricParameters& parameters) {
  return build_hgx_hopper("h200", "H200", parameters);
}

FabricInfo info(const std::string& name, const std::string& gpu, const std::string& links_source) {
  constexpr double kMostServers = 2048;
  return {
      .name = name,
      .description =
          "NVIDIA HGX " + gpu + ": servers of 8 " + gpu + " on NVSwitch, 8 NDR NICs, InfiniBand",
      // 0.35 us: the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
      .options = {servers_option(kMostServers), gpus_per_server_option(8),
                  bandwidth_option("25 GB/s"), latency_option("0.35us"), nic_binding_option(),
                  oversubscription_option("1"), servers_per_leaf_option(32), nvls_option(),
                  sharp_option()},
      .facts = {nvlink_fact(4),
                {"18 NVLinks a GPU to 4 NVSwitches: 450 GB/s a direction", links_source},
                {"each GPU shares a PCIe switch with a ConnectX-7 NIC of 400 Gb/s",
                 "NVIDIA DGX H100 user guide"},
                pcie_fact(5),
                {"0.35 us between GPU and NVSwitch",
                 "TE-CCL (alpha of DGX-2), for want of one of this NVSwitch"},
                {"the NVSwitches copy and add (NVLink SHARP)", "NVIDIA H100 white paper"},
                infiniband_latency_fact(),
                {"32 servers share leaf switches", "NVIDIA DGX H100 SuperPOD (scalable unit)"}}};
}

}  // namespace

FabricModel hgx_h100_model() {
  return {info("hgx-h100", "H100", "NVIDIA H100 white paper, DGX H100 user guide"), build_h100};
}

FabricModel h200_model() {
  return {info("h200", "H200", "NVIDIA H200 data sheet (the links are those of the H100)"),
          build_h200};
}

}  // namespace cclgym
