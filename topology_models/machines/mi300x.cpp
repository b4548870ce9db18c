#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_mi300x(const FabricParameters& parameters) {
  return build_infiniband_cluster("mi300x",
                                  {.gpu_model = "MI300X",
                                   .gpus = 8,
                                   .pairs = all_pairs(8, 1),
                                   .nics = 8,
                                   .nic_Bps = 50e9,  // NDR InfiniBand
                                   .gpus_a_pcie_switch = 1,
                                   .pcie_Bps = 48e9},
                                  parameters);
}

}  // namespace

FabricModel mi300x_model() {
  constexpr double kMostServers = 2048;
  return {
      {.name = "mi300x",
       .description = "nodes of 8 MI300X, xGMI between every two, 8 NDR NICs, InfiniBand",
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                   fabric_option("bandwidth", {.default_text = "64 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "32"})},
       .facts = {{"an xGMI link (listed as nvlink) between every two GPUs, 64 GB/s per direction",
                  "AMD CDNA 3 white paper (7 links of 16 lanes of 32 Gb/s)"},
                 {"one NIC of 400 Gb/s per GPU", "Azure ND MI300X v5 series page"},
                 {"a GPU shares a PCIe switch with its NIC",
                  "AMD MI300 series cluster reference guide"},
                 pcie_fact(5),
                 {"0.7 us per traversal of xGMI", "a choice: TE-CCL's alpha of a direct GPU link"},
                 infiniband_latency_fact(),
                 {"32 servers share leaf switches", "a choice; no effect unless oversubscribed"}}},
      build_mi300x};
}

}  // namespace cclgym
