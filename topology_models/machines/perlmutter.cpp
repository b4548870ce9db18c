#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/slingshot_cluster.hpp"

namespace cclgym {

namespace {

// The number of links between two groups is a choice. As in Frontier, a group's links carry 57 % of
// its NICs' bandwidth: 0.57 * 512 / 23.
constexpr SlingshotDesign kPerlmutterNetwork{
    .groups = 24, .switches = 32, .servers_a_group = 128, .local_links = 1, .links_a_pair = 12};

std::shared_ptr<const Fabric> build_perlmutter(const FabricParameters& parameters) {
  return build_slingshot_cluster("perlmutter",
                                 {.gpu_model = "A100",
                                  .host = {.cpu = HostCpu::Amd},
                                  .gpus = 4,
                                  .pairs = all_pairs(4, 4),
                                  .nics = 4,
                                  .nic_Bps = 25e9,
                                  .pcie_Bps = 24e9},
                                 kPerlmutterNetwork, parameters);
}

}  // namespace

FabricModel perlmutter_model() {
  return {
      {.name = "perlmutter",
       .description = "NERSC Perlmutter: nodes of 4 A100, 4 Slingshot NICs, dragonfly of 24 groups",
       .options = {fabric_option("nodes", {.max = kPerlmutterNetwork.servers()}),
                   fabric_option("gpus_per_node", {.max = 4, .default_text = "4"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("nic_binding"),
                   fabric_option("groups", {.max = kPerlmutterNetwork.groups}),
                   fabric_option("routing")},
       .facts = with_slingshot_facts(
           {nvlink_fact(3),
            {"4 NVLinks between every two of the 4 A100, one NIC of 200 Gb/s for each",
             "NERSC, Perlmutter architecture"},
            {"AMD EPYC Milan", "NERSC, Perlmutter architecture"},
            pcie_fact(4),
            {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
            {"a group is a cabinet: 8 chassis with 8 blades of 2 servers and 4 switches; 24 groups",
             "NERSC, Perlmutter architecture (its 1,792 servers would fill 14)"},
            {"12 links between every two groups",
             "a choice: 57 % of a group's NIC bandwidth, as in Frontier"}},
           "chassis")},
      build_perlmutter};
}

}  // namespace cclgym
