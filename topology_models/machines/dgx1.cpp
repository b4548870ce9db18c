#include <string>
#include <utility>
#include <vector>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/host_paths.hpp"
#include "topology_models/servers/hybrid_cube_mesh.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_dgx1(const FabricParameters& parameters) {
  constexpr int kGpus = 8;
  constexpr double kPcie_Bps = 12e9;
  constexpr double kSocket_Bps = 6e9;
  FabricBuilder builder("dgx1");
  builder.set_gpu_model("V100");
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    builder.add_node({.name = "gpu" + std::to_string(gpu), .kind = NodeKind::Gpu});
  }
  for (const GpuPair& pair : hybrid_cube_mesh()) {
    builder.add_duplex_link({.source = pair.a,
                             .target = pair.b,
                             .kind = LinkKind::NvLink,
                             .latency_s = parameters.latency_s,
                             .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                             .multiplicity = pair.units,
                             .latency_stated = parameters.latency_stated});
  }
  std::vector<NodeId> pcie_switches;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    if (gpu % 2 == 0) {
      pcie_switches.push_back(builder.add_node(
          {.name = "pcie" + std::to_string(gpu / 2), .kind = NodeKind::PcieSwitch}));
    }
    builder.add_duplex_link({.source = gpu,
                             .target = pcie_switches.back(),
                             .kind = LinkKind::Pcie,
                             .latency_s = 0,
                             .unit_bandwidth_Bps = kPcie_Bps});
  }
  add_hosts(builder, {.pcie_Bps = kPcie_Bps, .socket_Bps = kSocket_Bps}, pcie_switches, 0, "");
  builder.set_max_relays(nvb_relays(parameters.nvb));
  return builder.build();
}

}  // namespace

FabricModel dgx1_model() {
  FabricModel model{
      {.name = "dgx1",
       .description = "NVIDIA DGX-1: 8 V100 in a hybrid cube mesh of NVLink2, 6 units per GPU",
       .options = {fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"}), fabric_option("nvb")},
       .facts = {nvlink_fact(2),
                 {"pairs of GPUs with one or two NVLinks", "SCCL (its topology file of the DGX-1)"},
                 {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"},
                 pcie_fact(3),
                 {"two Xeon E5-2698 v4 (Broadwell) with two PCIe switches each, and two GPUs per "
                  "switch",
                  "NVIDIA DGX-1 with Tesla V100 white paper"},
                 {"6 GB/s per direction between the sockets", "NCCL (graph/topo.h: QPI)"}}},
      build_dgx1};
  for (FabricFact& fact : host_facts()) model.info.facts.push_back(std::move(fact));
  return model;
}

}  // namespace cclgym
