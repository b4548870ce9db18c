#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/slingshot_cluster.hpp"

namespace cclgym {

namespace {

// Links between two groups: as many as give the ratio of Frontier, 57 % of what the NICs of a group
// can send: 0.57 * 448 / 23.
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
           .description = "CSCS Alps: servers of 4 GH200, 4 Slingshot NICs, dragonfly of 24 groups",
           .options = {servers_option(kAlpsNetwork.servers()), gpus_per_server_option(4),
                       bandwidth_option("25 GB/s"), latency_option("0.7us"), nic_binding_option(),
                       groups_option(kAlpsNetwork.groups), routing_option()},
           .facts = with_slingshot_facts(
               {nvlink_fact(4),
                {"6 NVLinks between every two of the 4 GH200: 150 GB/s a direction",
                 "Fusco et al., arXiv 2408.11556"},
                {"a NIC of 200 Gb/s for each GH200, on its CPU", "CSCS, Alps hardware"},
                {"48 GB/s a direction between GPU and NIC",
                 "NCCL's figure of PCIe Gen5 x16; the CPU in between is no limit (NVLink-C2C)"},
                {"0.7 us a traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
                {"a cabinet has 8 chassis with 7 blades of 2 servers; 24 cabinets with GH200",
                 "CSCS, Alps hardware"},
                {"a group is a cabinet of 32 switches", "a choice, as in other Cray EX systems"},
                {"11 links between every two groups",
                 "a choice: the 57 % of a group's NICs that Frontier has"}},
               "chassis")},
          build_alps};
}

}  // namespace cclgym
