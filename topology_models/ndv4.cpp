#include <memory>

#include "topology_models/builders.hpp"
#include "topology_models/server_cluster.hpp"

namespace cclgym {

namespace {

// Counts: MSCCLang section 7.
std::shared_ptr<const Fabric> build(const FabricParameters& parameters) {
  return build_cluster({.fabric = "ndv4",
                        .gpu_model = "A100",
                        .boards = 1,
                        .gpus_a_board = 8,
                        .nvswitches_a_board = 6,
                        .nvlinks_a_gpu = 12,  // two to each NVSwitch
                        .nics_a_gpu_pair = 2,
                        // NCCL's own figure (graph/topo.h: 12 GB/s for a PCIe Gen3 x16 link, twice
                        // that for Gen4): the 31.5 GB/s of 16 lanes at 16 GT/s less packet headers
                        // and flow control.
                        .pcie_Bps = 24e9},
                       parameters);
}

}  // namespace

FabricModel ndv4_model() {
  constexpr double kMostServers = 2048;
  return {{.name = "ndv4",
           .description =
               "Azure NDv4: servers of 8 A100 on NVSwitch, 8 HDR NICs, one non-blocking network",
           // 25 GB/s: an NVLink3 unit, one direction (NVIDIA A100 white paper). 0.35 us: the alpha
           // that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
           .options = {servers_option(kMostServers), bandwidth_option("25 GB/s"),
                       latency_option("0.35us")}},
          build};
}

}  // namespace cclgym
