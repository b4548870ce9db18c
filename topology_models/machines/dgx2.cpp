#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// The counts are from MSCCLang section 7 (GC3 section 7 has the same). The latency between the
// boards is a choice, and likely an upper estimate: docs/fabrics.md, `dgx2`.
std::shared_ptr<const Fabric> build_dgx2(const FabricParameters& parameters) {
  constexpr int kNvSwitches = 6;  // per board
  return build_infiniband_cluster("dgx2",
                                  {.gpu_model = "V100",
                                   .gpus = 16,
                                   .boards = 2,
                                   .nvswitches_a_board = kNvSwitches,
                                   .nvlinks_a_gpu = kNvSwitches,  // one to each NVSwitch
                                   .nvlinks_between_boards = 8 * kNvSwitches,
                                   .nics = 8,
                                   .nic_Bps = 25e9,  // HDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   // This is less than half of the bandwidth of the NIC behind the
                                   // link.
                                   .pcie_Bps = 12e9},
                                  parameters);
}

}  // namespace

FabricModel dgx2_model() {
  constexpr double kMostServers = 1024;
  return {
      {.name = "dgx2",
       .description =
           "NVIDIA DGX-2: nodes of 16 V100 on two boards of NVSwitches, 8 HDR NICs, InfiniBand",
       // 0.35 us is the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 16, .default_text = "16"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.35us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "16"}), fabric_option("rails")},
       .facts = {nvlink_fact(2),
                 {"6 NVLinks per GPU to the 6 NVSwitches of its board; 8 from each NVSwitch to its "
                  "counterpart on the other board; two GPUs and one HDR NIC (200 Gb/s) share a "
                  "PCIe switch",
                  "MSCCLang section 7, GC3 section 7"},
                 pcie_fact(3),
                 {"0.35 us between GPU and NVSwitch", "TE-CCL (alpha of DGX-2)"},
                 {"0.35 us between the boards", "a choice: one more NVLink traversal"},
                 infiniband_latency_fact(),
                 {"16 servers share leaf switches", "a choice; no effect unless oversubscribed"}}},
      build_dgx2};
}

}  // namespace cclgym
