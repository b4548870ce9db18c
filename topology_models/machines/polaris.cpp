#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/slingshot_cluster.hpp"

namespace cclgym {

namespace {

// ALCF publishes 40 racks of 14 nodes. The rest is a choice: two switches per rack, groups of four
// racks, and links that do not make the group itself a bottleneck. As in Frontier, the links from a
// group to the others carry 57 % of its NICs' bandwidth: 0.57 * 112 / 9.
constexpr SlingshotDesign kPolarisNetwork{
    .groups = 10, .switches = 8, .servers_a_group = 56, .local_links = 4, .links_a_pair = 7};

std::shared_ptr<const Fabric> build_polaris(const FabricParameters& parameters) {
  return build_slingshot_cluster("polaris",
                                 {.gpu_model = "A100",
                                  .gpus = 4,
                                  .pairs = all_pairs(4, 4),
                                  .nics = 2,
                                  .nic_Bps = 25e9,
                                  .pcie_Bps = 24e9},
                                 kPolarisNetwork, parameters);
}

}  // namespace

FabricModel polaris_model() {
  return {{.name = "polaris",
           .description = "ALCF Polaris: nodes of 4 A100, 2 Slingshot NICs, dragonfly of 10 groups",
           .options = {fabric_option("nodes", {.max = kPolarisNetwork.servers()}),
                       fabric_option("gpus_per_node", {.max = 4, .default_text = "4"}),
                       fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                       fabric_option("latency", {.default_text = "0.7us"}),
                       fabric_option("nic_binding"),
                       fabric_option("groups", {.max = kPolarisNetwork.groups}),
                       fabric_option("routing")},
           .facts = with_slingshot_facts(
               {nvlink_fact(3),
                {"4 NVLinks between every two of the 4 A100, 2 NICs of 200 Gb/s; 40 racks of 14 "
                 "servers",
                 "ALCF, Polaris machine overview"},
                {"GPUs 0 and 1 share a NIC, 2 and 3 the other",
                 "ALCF, Polaris machine overview (affinity of GPUs 1 and 3); the others by NUMA"},
                pcie_fact(4),
                {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
                {"groups of 4 racks with 2 switches each, 4 links between two switches of a group",
                 "a choice: not published"},
                {"7 links between every two groups",
                 "a choice: 57 % of a group's NIC bandwidth, as in Frontier"}},
               "rack")},
          build_polaris};
}

}  // namespace cclgym
