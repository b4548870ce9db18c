#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/slingshot_cluster.hpp"

namespace cclgym {

namespace {

// The number of links between two groups is a choice. As in Frontier, a group's links carry 57 % of
// its NICs' bandwidth: 0.57 * 448 / 23.
constexpr SlingshotDesign kAlpsNetwork{
    .groups = 24, .switches = 32, .servers_a_group = 112, .local_links = 1, .links_a_pair = 11};

std::shared_ptr<const Fabric> build_alps(const FabricParameters& parameters) {
  return build_slingshot_cluster("alps",
                                 {.gpu_model = "GH200",
                                  .gpus = 4,
                                  .pairs = all_pairs(4, 6),
                                  .nics = 4,
                                  .nic_Bps = 25e9,
                                  .pcie_Bps = 48e9},
                                 kAlpsNetwork, parameters);
}

}  // namespace

FabricModel alps_model() {
  return {{.name = "alps",
           .description = "CSCS Alps: nodes of 4 GH200, 4 Slingshot NICs, dragonfly of 24 groups",
           .options = {fabric_option("nodes", {.max = kAlpsNetwork.servers()}),
                       fabric_option("gpus_per_node", {.max = 4, .default_text = "4"}),
                       fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                       fabric_option("latency", {.default_text = "0.7us"}),
                       fabric_option("nic_binding"),
                       fabric_option("groups", {.max = kAlpsNetwork.groups}),
                       fabric_option("routing"), fabric_option("cross_nic")},
           .facts = with_slingshot_facts(
               {nvlink_fact(4),
                {"6 NVLinks between every two of the 4 GH200: 150 GB/s per direction",
                 "Fusco et al., arXiv 2408.11556"},
                {"one NIC of 200 Gb/s per GH200, on its CPU", "CSCS, Alps hardware"},
                {"48 GB/s per direction between GPU and NIC",
                 "NCCL's figure of PCIe Gen5 x16; the CPU in between is no limit (NVLink-C2C)"},
                {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
                {"a cabinet has 8 chassis with 7 blades of 2 servers; 24 cabinets with GH200",
                 "CSCS, Alps hardware"},
                {"a group is a cabinet of 32 switches", "a choice, as in other Cray EX systems"},
                {"11 links between every two groups",
                 "a choice: 57 % of a group's NIC bandwidth, as in Frontier"}},
               "chassis")},
          build_alps};
}

}  // namespace cclgym
