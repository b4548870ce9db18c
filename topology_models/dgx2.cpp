#include <memory>

#include "topology_models/builders.hpp"
#include "topology_models/server_cluster.hpp"

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
std::shared_ptr<const Fabric> build(const FabricParameters& parameters) {
  constexpr int kNvSwitches = 6;  // of a board
  return build_cluster({.fabric = "dgx2",
                        .gpu_model = "V100",
                        .boards = 2,
                        .gpus_a_board = 8,
                        .nvswitches_a_board = kNvSwitches,
                        .nvlinks_a_gpu = kNvSwitches,  // one to each
                        .nvlinks_between_boards = 8 * kNvSwitches,
                        .nics_a_gpu_pair = 1,
                        // NCCL's own figure of a PCIe Gen3 x16 link (graph/topo.h): the 15.75 GB/s
                        // of 16 lanes at 8 GT/s less packet headers and flow control. It is less
                        // than half of what the NIC behind it could take.
                        .pcie_Bps = 12e9},
                       parameters);
}

}  // namespace

FabricModel dgx2_model() {
  constexpr double kMostServers = 1024;
  return {
      {.name = "dgx2",
       .description = "NVIDIA DGX-2: servers of 16 V100 on two boards of NVSwitches, 8 HDR NICs, "
                      "one non-blocking network",
       // 25 GB/s: an NVLink2 unit, one direction (NVIDIA V100 white paper). 0.35 us: the alpha
       // that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
       .options = {servers_option(kMostServers), bandwidth_option("25 GB/s"),
                   latency_option("0.35us")}},
      build};
}

}  // namespace cclgym
