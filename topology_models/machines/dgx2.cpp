#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// Counts: MSCCLang section 7 (GC3 section 7 has the same): 6 NVLinks a GPU to 6 NVSwitches, 8 links
// from every switch to its counterpart on the other board, one HDR NIC a pair of GPUs.
//
// TE-CCL draws a DGX-2 as one switch with 0.35 us to each GPU. The second NVSwitch on the way to
// the other board is a choice of ours: a switch-to-switch link counts as one more NVLink traversal,
// with the latency of a GPU link, so that 0.7 us becomes 1.05 us. No source separates the two; a
// switch end is likely quicker than a GPU end, which makes this an upper estimate. Cost models that
// state an alpha for NVLink count traversals in the same way.
std::shared_ptr<const Fabric> build_dgx2(const FabricParameters& parameters) {
  constexpr int kNvSwitches = 6;  // of a board
  return build_infiniband_cluster("dgx2",
                                  {.gpu_model = "V100",
                                   .gpus = 16,
                                   .boards = 2,
                                   .nvswitches_a_board = kNvSwitches,
                                   .nvlinks_a_gpu = kNvSwitches,  // one to each
                                   .nvlinks_between_boards = 8 * kNvSwitches,
                                   .nics = 8,
                                   .nic_Bps = 25e9,  // HDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   // Less than half of what the NIC behind it could take.
                                   .pcie_Bps = 12e9},
                                  parameters);
}

}  // namespace

FabricModel dgx2_model() {
  constexpr double kMostServers = 1024;
  return {
      {.name = "dgx2",
       .description =
           "NVIDIA DGX-2: servers of 16 V100 on two boards of NVSwitches, 8 HDR NICs, InfiniBand",
       // 0.35 us: the alpha that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {servers_option(kMostServers), gpus_per_server_option(16),
                   bandwidth_option("25 GB/s"), latency_option("0.35us"), nic_binding_option(),
                   oversubscription_option("1"), servers_per_leaf_option(16)},
       .facts = {nvlink_fact(2),
                 {"6 NVLinks a GPU to the 6 NVSwitches of its board; 8 from each NVSwitch to its "
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
