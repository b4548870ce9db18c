#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// TE-CCL's AMD topology: 16 GPUs (dies of 8 MI250X), 28 pairs of which have 1, 2 or 4 link units.
std::vector<GpuPair> xgmi() {
  return {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
          {2, 3, 4},   {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},
          {4, 5, 4},   {4, 6, 1},   {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},
          {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
          {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};
}

std::shared_ptr<const Fabric> build_amd_mi250x(const FabricParameters& parameters) {
  return build_infiniband_cluster("amd-mi250x",
                                  {.gpu_model = "MI250X",
                                   .gpus = 16,
                                   .pairs = xgmi(),
                                   .nics = 8,
                                   .nic_Bps = 25e9,  // HDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   .pcie_Bps = 24e9},
                                  parameters);
}

}  // namespace

FabricModel amd_mi250x_model() {
  constexpr double kMostServers = 1024;
  return {
      {.name = "amd-mi250x",
       .description = "nodes of 16 MI250X dies on xGMI, 8 NICs of 200 Gb/s, InfiniBand",
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 16, .default_text = "16"}),
                   fabric_option("bandwidth", {.default_text = "50 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "16"}), fabric_option("rails")},
       .facts = {{"pairs of GPUs with 1, 2 or 4 units of xGMI (listed as nvlink)",
                  "TE-CCL (its AMD topology)"},
                 {"a unit of xGMI carries 50 GB/s per direction",
                  "AMD CDNA 2 white paper (16 lanes of 25 GT/s); TE-CCL"},
                 {"one NIC of 25 GB/s per two GPUs", "TE-CCL (its AMD topology)"},
                 {"two GPUs share a PCIe switch with their NIC",
                  "RCCL (tools/topo_expl, model of 16 MI250X dies)"},
                 pcie_fact(4),
                 {"0.7 us per traversal of xGMI", "a choice: TE-CCL's alpha of a direct GPU link"},
                 infiniband_latency_fact(),
                 {"16 servers share leaf switches", "a choice; no effect unless oversubscribed"}}},
      build_amd_mi250x};
}

}  // namespace cclgym
