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
       .description = "servers of 8 MI300X, xGMI between every two, 8 NDR NICs, InfiniBand",
       .options = {servers_option(kMostServers), gpus_per_server_option(8),
                   bandwidth_option("64 GB/s"), latency_option("0.7us"), nic_binding_option(),
                   oversubscription_option("1"), servers_per_leaf_option(32)},
       .facts = {{"a link of xGMI (listed as nvlink) between every two GPUs, 64 GB/s a direction",
                  "AMD CDNA 3 white paper (7 links of 16 lanes of 32 Gb/s)"},
                 {"a NIC of 400 Gb/s for each GPU", "Azure ND MI300X v5 series page"},
                 {"a GPU shares a PCIe switch with its NIC",
                  "AMD MI300 series cluster reference guide"},
                 pcie_fact(5),
                 {"0.7 us a traversal of xGMI", "a choice: TE-CCL's alpha of a direct GPU link"},
                 infiniband_latency_fact(),
                 {"32 servers share leaf switches", "a choice; no effect unless oversubscribed"}}},
      build_mi300x};
}

}  // namespace cclgym
