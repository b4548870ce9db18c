#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

constexpr double kNdr_Bps = 50e9;

std::shared_ptr<const Fabric> build_b200(const FabricParameters& parameters) {
  return build_infiniband_cluster("b200",
                                  {.gpu_model = "B200",
                                   .gpus = 8,
                                   .boards = 1,
                                   .nvswitches_a_board = 2,
                                   .nvlinks_a_gpu = 18,
                                   .nics = 8,
                                   .nic_Bps = kNdr_Bps,
                                   .gpus_a_pcie_switch = 1,
                                   .pcie_Bps = 48e9},
                                  parameters);
}

std::shared_ptr<const Fabric> build_gb200_nvl72(const FabricParameters& parameters) {
  return build_infiniband_cluster("gb200-nvl72",
                                  {.gpu_model = "GB200",
                                   .gpus = 72,
                                   .boards = 1,
                                   .nvswitches_a_board = 18,
                                   .nvlinks_a_gpu = 18,
                                   .nics = 72,
                                   .nic_Bps = kNdr_Bps,
                                   .gpus_a_pcie_switch = 1,
                                   .pcie_Bps = 48e9},
                                  parameters);
}

std::vector<OptionSpec> options(double most_nodes, const std::string& gpus,
                                const std::string& nodes_per_leaf) {
  return {fabric_option("nodes", {.max = most_nodes}),
          fabric_option("gpus_per_node", {.max = std::stod(gpus), .default_text = gpus}),
          fabric_option("bandwidth", {.default_text = "50 GB/s"}),
          fabric_option("latency", {.default_text = "0.35us"}),
          fabric_option("nic_binding"),
          fabric_option("oversubscription", {.default_text = "1"}),
          fabric_option("nodes_per_leaf", {.default_text = nodes_per_leaf}),
          fabric_option("rails"),
          fabric_option("nvls"),
          fabric_option("sharp")};
}

FabricFact nvswitch_latency_fact() {
  return {"0.35 us between GPU and NVSwitch",
          "TE-CCL (alpha of DGX-2): none is published for this NVSwitch"};
}

}  // namespace

FabricModel b200_model() {
  return {{.name = "b200",
           .description = "NVIDIA DGX B200: nodes of 8 B200 on NVSwitch, 8 NDR NICs, InfiniBand",
           .options = options(2048, "8", "32"),
           .facts = {nvlink_fact(5),
                     {"18 NVLinks per GPU to 2 NVSwitches: 900 GB/s per direction",
                      "NVIDIA DGX B200 data sheet (14.4 TB/s in all, both directions)"},
                     {"each GPU shares a PCIe switch with a ConnectX-7 NIC of 400 Gb/s",
                      "NVIDIA DGX B200 user guide"},
                     pcie_fact(5),
                     nvswitch_latency_fact(),
                     {"the NVSwitches copy and add (NVLink SHARP)",
                      "NVIDIA Blackwell architecture brief"},
                     infiniband_latency_fact(),
                     {"32 nodes share leaf switches",
                      "NVIDIA DGX B200 SuperPOD (scalable unit: 32 systems)"}}},
          build_b200};
}

FabricModel gb200_nvl72_model() {
  return {{.name = "gb200-nvl72",
           .description = "NVIDIA GB200 NVL72: racks of 72 GB200 on NVSwitch, one NDR NIC per GPU, "
                          "InfiniBand",
           .options = options(256, "72", "8"),
           .facts = {nvlink_fact(5),
                     {"72 GPUs of 18 trays in one NVLink domain, which is a node here",
                      "NVIDIA GB200 NVL72 data sheet; a choice: its 36 hosts are not modelled"},
                     {"18 NVLinks per GPU, one to each of 18 NVSwitches on 9 trays: 900 GB/s per "
                      "direction",
                      "NVIDIA GB200 NVL72 data sheet (130 TB/s in all, both directions)"},
                     {"a ConnectX-7 NIC of 400 Gb/s per GPU",
                      "NVIDIA DGX GB200 user guide (four per tray of four GPUs)"},
                     pcie_fact(5),
                     nvswitch_latency_fact(),
                     {"the NVSwitches copy and add (NVLink SHARP)",
                      "NVIDIA Blackwell architecture brief"},
                     infiniband_latency_fact(),
                     {"8 racks share leaf switches",
                      "NVIDIA DGX GB200 SuperPOD (scalable unit: 8 racks)"}},
           .trays = 18},
          build_gb200_nvl72};
}

}  // namespace cclgym
