#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_abci_a(const FabricParameters& parameters) {
  return build_infiniband_cluster("abci-a",
                                  {.gpu_model = "A100",
                                   .cost_model = "a100-abci",
                                   .gpus = 8,
                                   .boards = 1,
                                   .nvswitches_a_board = 6,
                                   .nvlinks_a_gpu = 12,
                                   .nics = 4,
                                   .nic_Bps = 25e9,  // HDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   .pcie_Bps = 24e9},
                                  parameters);
}

}  // namespace

FabricModel abci_a_model() {
  constexpr double kMostServers = 2048;
  return {
      {.name = "abci-a",
       .description = "ABCI 2.0 compute nodes (A) of 8 A100 on NVSwitch, 4 HDR NICs",
       // 0.35 us is the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.35us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "20"}), fabric_option("rails")},
       .facts = {nvlink_fact(3),
                 {"8 A100 (SXM4, 12 NVLinks each to 6 NVSwitches) and 4 HDR NICs (200 Gb/s)",
                  "ABCI 2.0 user guide, system overview (compute node A)"},
                 {"two GPUs share a PCIe switch with one NIC",
                  "a choice: as in other HGX A100 servers with one NIC per two GPUs"},
                 pcie_fact(4),
                 {"0.35 us between GPU and NVSwitch", "TE-CCL (alpha of DGX-2)"},
                 infiniband_latency_fact(),
                 {"20 servers share leaf switches",
                  "a choice, as in NVIDIA's DGX A100 SuperPOD; no effect unless oversubscribed"}}},
      build_abci_a};
}

}  // namespace cclgym
