#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// The counts are from MSCCLang section 7.
std::shared_ptr<const Fabric> build_ndv4(const FabricParameters& parameters) {
  return build_infiniband_cluster("ndv4",
                                  {.gpu_model = "A100",
                                   .host = {.cpu = HostCpu::Amd},
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
       .description = "Azure NDv4: nodes of 8 A100 on NVSwitch, 8 HDR NICs, InfiniBand",
       // 0.35 us is the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.35us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "20"}), fabric_option("rails"),
                   fabric_option("sharp")},
       .facts = {nvlink_fact(3),
                 {"12 NVLinks per GPU to 6 NVSwitches; two GPUs and two HDR NICs (200 Gb/s) share "
                  "a PCIe switch",
                  "MSCCLang section 7"},
                 {"AMD EPYC 7V12", "Microsoft, ND A100 v4 series"},
                 pcie_fact(4),
                 {"0.35 us between GPU and NVSwitch", "TE-CCL (alpha of DGX-2)"},
                 infiniband_latency_fact(),
                 {"20 servers share leaf switches",
                  "NVIDIA DGX A100 SuperPOD (scalable unit); Azure's are not published"}}},
      build_ndv4};
}

}  // namespace cclgym
