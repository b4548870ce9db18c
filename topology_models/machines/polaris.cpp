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

// The orders that NCCL's search finds (src/graph/search.cc of 2.21.5, run on the node's topology
// with NCCL_CROSS_NIC=1 and NCCL_NET_GDR_LEVEL=PHB). The ends of rings and the heads of trees are
// GPUs 1 and 3, which are near a NIC. Up to 2.18, the orders of trees were 0 1 2 3 and 3 2 1 0.
HostTraits polaris_host(const FabricParameters& parameters) {
  HostTraits host{.cpu = HostCpu::Amd};
  if (parameters.gpus_per_server < 4) return host;
  host.ring_orders = {{1, 0, 2, 3}, {3, 2, 0, 1}};
  host.tree_orders = {{1, 2, 3, 0}, {3, 2, 0, 1}};
  return host;
}

std::shared_ptr<const Fabric> build_polaris(const FabricParameters& parameters) {
  return build_slingshot_cluster("polaris",
                                 {.gpu_model = "A100",
                                  .host = polaris_host(parameters),
                                  .gpus = 4,
                                  .pairs = all_pairs(4, 4),
                                  .nics = 2,
                                  .nic_Bps = 25e9,
                                  .pcie_Bps = 24e9},
                                 kPolarisNetwork, parameters);
}

}  // namespace

FabricModel polaris_model() {
  return {
      {.name = "polaris",
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
            {"AMD EPYC Milan", "ALCF, Polaris machine overview"},
            {"GPUs 1 and 3 have a NIC on their NUMA node; GPU 0 shares the first, GPU 2 the second",
             "ALCF, Polaris machine overview (device affinity); GPUs 0 and 2 by NUMA"},
            {"orders of NCCL's rings (GPUs 1 0 2 3 and 3 2 0 1) and trees (1 2 3 0 and 3 2 0 1)",
             "NCCL's search on this topology (src/graph/search.cc of 2.21.5, NCCL_CROSS_NIC=1)"},
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
