#include <memory>
#include <utility>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/host_paths.hpp"
#include "topology_models/servers/hybrid_cube_mesh.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

// In this model the NIC sits on a PCIe switch of its own: every PCIe switch of two GPUs reaches it
// at the rate of a PCIe link, and the NIC alone limits their total.
std::shared_ptr<const Fabric> build_ndv2(const FabricParameters& parameters) {
  return build_infiniband_cluster("ndv2",
                                  {.gpu_model = "V100",
                                   .gpus = 8,
                                   .pairs = hybrid_cube_mesh(),
                                   .nics = 1,
                                   .nic_Bps = 12.5e9,  // EDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   .pcie_Bps = 12e9,
                                   .socket_Bps = 9e9},
                                  parameters);
}

}  // namespace

FabricModel ndv2_model() {
  constexpr double kMostServers = 2048;
  FabricModel model{
      {.name = "ndv2",
       .description = "Azure NDv2: nodes of 8 V100 as in a DGX-1, one EDR NIC, InfiniBand",
       // 0.7 us is the alpha that TE-CCL uses for NVLink (its NDv2 topology).
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("oversubscription", {.default_text = "1"}),
                   fabric_option("nodes_per_leaf", {.default_text = "16"}), fabric_option("nvb")},
       .facts = {nvlink_fact(2),
                 {"NVLinks as in a DGX-1, one NIC of 100 Gb/s (EDR) per server",
                  "Azure NDv2 series page; TE-CCL (NDv2)"},
                 {"two GPUs share a PCIe switch; all PCIe switches reach the NIC",
                  "DGX-1 white paper; the place of the NIC is not published"},
                 pcie_fact(3),
                 {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2)"},
                 infiniband_latency_fact(),
                 {"Xeon Platinum 8168 (Skylake)", "Azure NDv2 series page"},
                 {"two sockets with two PCIe switches each", "a choice: as in a DGX-1"},
                 {"9 GB/s per direction between the sockets",
                  "NCCL 2.7 to 2.17 (graph/topo.h: QPI of Skylake; 10 GB/s since 2.18)"},
                 {"16 servers share leaf switches", "a choice; no effect unless oversubscribed"}}},
      build_ndv2};
  for (FabricFact& fact : host_facts()) model.info.facts.push_back(std::move(fact));
  return model;
}

}  // namespace cclgym
