#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// The platforms of MI300X and MI325X differ only in the memory of the GPUs.
std::shared_ptr<const Fabric> build_mi300(const char* name, const char* gpu_model,
                                          const FabricParameters& parameters) {
  return build_infiniband_cluster(name,
                                  {.gpu_model = gpu_model,
                                   .gpus = 8,
                                   .pairs = all_pairs(8, 1),
                                   .nics = 8,
                                   .nic_Bps = 50e9,  // NDR InfiniBand
                                   .gpus_a_pcie_switch = 1,
                                   .pcie_Bps = 48e9},
                                  parameters);
}

std::shared_ptr<const Fabric> build_mi300x(const FabricParameters& parameters) {
  return build_mi300("mi300x", "MI300X", parameters);
}

std::shared_ptr<const Fabric> build_mi325x(const FabricParameters& parameters) {
  return build_mi300("mi325x", "MI325X", parameters);
}

FabricInfo info(const std::string& name, const std::string& gpu, const std::string& links_source,
                const std::string& nic_source) {
  constexpr double kMostServers = 2048;
  return {
      .name = name,
      .description = "nodes of 8 " + gpu + ", xGMI between every two, 8 NDR NICs, InfiniBand",
      .options = {fabric_option("nodes", {.max = kMostServers}),
                  fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                  fabric_option("bandwidth", {.default_text = "64 GB/s"}),
                  fabric_option("latency", {.default_text = "0.7us"}), fabric_option("nic_binding"),
                  fabric_option("oversubscription", {.default_text = "1"}),
                  fabric_option("nodes_per_leaf", {.default_text = "32"}), fabric_option("rails")},
      .facts = {
          {"an xGMI link (listed as nvlink) between every two GPUs, 64 GB/s per direction",
           links_source},
          {"one NIC of 400 Gb/s per GPU", nic_source},
          {"a GPU shares a PCIe switch with its NIC", "AMD MI300 series cluster reference guide"},
          pcie_fact(5),
          {"0.7 us per traversal of xGMI", "a choice: TE-CCL's alpha of a direct GPU link"},
          infiniband_latency_fact(),
          {"32 servers share leaf switches",
           "a choice; no effect unless oversubscribed or in rails"}}};
}

}  // namespace

FabricModel mi300x_model() {
  return {info("mi300x", "MI300X", "AMD CDNA 3 white paper (7 links of 16 lanes of 32 Gb/s)",
               "Azure ND MI300X v5 series page"),
          build_mi300x};
}

FabricModel mi325x_model() {
  return {info("mi325x", "MI325X",
               "AMD Instinct MI325X data sheet (7 links of 128 GB/s, both directions)",
               "a choice: as nodes of MI300X"),
          build_mi325x};
}

}  // namespace cclgym
