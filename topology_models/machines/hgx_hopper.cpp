#include <memory>
#include <string>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// HGX H100, H200 and H20 are the same board; only the GPUs differ.
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

std::shared_ptr<const Fabric> build_h20(const FabricParameters& parameters) {
  return build_hgx_hopper("h20", "H20", parameters);
}

FabricInfo info(const std::string& name, const std::string& gpu, const std::string& links_source) {
  constexpr double kMostServers = 2048;
  return {
      .name = name,
      .description =
          "NVIDIA HGX " + gpu + ": nodes of 8 " + gpu + " on NVSwitch, 8 NDR NICs, InfiniBand",
      // 0.35 us is the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
      .options = {fabric_option("nodes", {.max = kMostServers}),
                  fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                  fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                  fabric_option("latency", {.default_text = "0.35us"}),
                  fabric_option("nic_binding"),
                  fabric_option("oversubscription", {.default_text = "1"}),
                  fabric_option("nodes_per_leaf", {.default_text = "32"}), fabric_option("rails"),
                  fabric_option("nvls"), fabric_option("sharp")},
      .facts = {nvlink_fact(4),
                {"18 NVLinks per GPU to 4 NVSwitches: 450 GB/s per direction", links_source},
                {"each GPU shares a PCIe switch with a ConnectX-7 NIC of 400 Gb/s",
                 "NVIDIA DGX H100 user guide"},
                pcie_fact(5),
                {"0.35 us between GPU and NVSwitch",
                 "TE-CCL (alpha of DGX-2): none is published for this NVSwitch"},
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

FabricModel h20_model() {
  return {info("h20", "H20",
               "sheets of system vendors: NVLink of 900 GB/s as the H100 (NVIDIA publishes none)"),
          build_h20};
}

}  // namespace cclgym
