#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/slingshot_cluster.hpp"

namespace cclgym {

namespace {

constexpr SlingshotDesign kFrontierNetwork{
    .groups = 74, .switches = 32, .servers_a_group = 128, .local_links = 1, .links_a_pair = 4};

std::shared_ptr<const Fabric> build_frontier(const FabricParameters& parameters) {
  return build_slingshot_cluster("frontier",
                                 {.gpu_model = "MI250X",
                                  .gpus = 8,
                                  .pairs = {{0, 1, 4},
                                            {0, 2, 1},
                                            {0, 6, 2},
                                            {1, 3, 1},
                                            {1, 5, 1},
                                            {2, 3, 4},
                                            {2, 4, 2},
                                            {3, 7, 1},
                                            {4, 5, 4},
                                            {4, 6, 1},
                                            {5, 7, 1},
                                            {6, 7, 4}},
                                  .nics = 4,
                                  .nic_Bps = 25e9,
                                  .pcie_Bps = 50e9},
                                 kFrontierNetwork, parameters);
}

}  // namespace

FabricModel frontier_model() {
  return {
      {.name = "frontier",
       .description =
           "OLCF Frontier: nodes of 4 MI250X (8 dies), 4 Slingshot NICs, dragonfly of 74 groups",
       .options = {fabric_option("nodes", {.max = kFrontierNetwork.servers()}),
                   fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                   fabric_option("bandwidth", {.default_text = "50 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("nic_binding"),
                   fabric_option("groups", {.max = kFrontierNetwork.groups}),
                   fabric_option("routing")},
       .facts = with_slingshot_facts(
           {{"8 dies (4 MI250X) per server: 4 units of xGMI (listed as nvlink) within a "
             "package, 1 or "
             "2 between dies of others",
             "OLCF Frontier user guide (node diagram); Pearson, arXiv 2302.14827"},
            {"a unit of xGMI carries 50 GB/s per direction",
             "AMD CDNA 2 white paper (16 lanes of 25 GT/s)"},
            {"each package has a NIC of 200 Gb/s, over PCIe Gen4 ESM at 50 GB/s",
             "OLCF Frontier user guide; AMD CDNA 2 white paper; PCCL section IV"},
            {"0.7 us per traversal of xGMI", "a choice: TE-CCL's alpha of a direct GPU link"},
            {"74 groups of 32 switches and 128 servers, 4 links between every two groups",
             "OLCF (9,408 servers in 74 cabinets; SC23, \"Frontier: Exploring Exascale\")"}},
           "chassis")},
      build_frontier};
}

}  // namespace cclgym
