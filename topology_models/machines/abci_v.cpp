#include <memory>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_abci_v(const FabricParameters& parameters) {
  return build_infiniband_cluster("abci-v",
                                  {.gpu_model = "V100",
                                   .host = {.nics_behind_host_bridge = true},
                                   .cost_model = "v100-abci",
                                   .gpus = 4,
                                   .pairs = all_pairs(4, 2),  // six NVLinks per GPU
                                   .nics = 2,
                                   .nic_Bps = 12.5e9,  // EDR InfiniBand
                                   .gpus_a_pcie_switch = 2,
                                   .pcie_Bps = 12e9},
                                  parameters);
}

}  // namespace

FabricModel abci_v_model() {
  constexpr double kMostServers = 2048;
  return {
      {.name = "abci-v",
       .description = "ABCI compute nodes (V) of 4 V100, 2 EDR NICs, oversubscribed fat tree",
       // 2.83 because the 68 NICs of a rack share 24 links to the spine.
       .options = {fabric_option("nodes", {.max = kMostServers}),
                   fabric_option("gpus_per_node", {.max = 4, .default_text = "4"}),
                   fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}),
                   fabric_option("nic_binding"),
                   fabric_option("oversubscription", {.default_text = "2.83"}),
                   fabric_option("nodes_per_leaf", {.default_text = "34"}), fabric_option("rails")},
       .facts = {nvlink_fact(2),
                 {"4 V100 (SXM2), two NVLinks between every two, and 2 EDR NICs (100 Gb/s)",
                  "ABCI user guide, system overview (compute node V)"},
                 {"two GPUs share a PCIe switch with one NIC",
                  "ABCI user guide, diagram of compute node V"},
                 {"NCCL finds the host bridge between a GPU and its NIC, and does not use LL128 "
                  "between nodes",
                  "inferred: NCCL 2.8.4's AllReduce on 128 GPUs gets faster from 512 KiB to 1 MiB "
                  "(730 to 507 us), which fits a change from LL to Simple"},
                 pcie_fact(3),
                 {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
                 infiniband_latency_fact(),
                 {"racks of 34 servers with full bandwidth inside, 24 EDR links from a rack to "
                  "the spine",
                  "Mynavi News, report on ABCI's network (abci-2)"},
                 {"0.13 us through one more switch", "NVIDIA Quantum QM8700 data sheet"}}},
      build_abci_v};
}

}  // namespace cclgym
