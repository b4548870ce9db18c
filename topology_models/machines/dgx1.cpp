#include <string>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/hybrid_cube_mesh.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_dgx1(const FabricParameters& parameters) {
  constexpr int kGpus = 8;
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
  return builder.build();
}

}  // namespace

FabricModel dgx1_model() {
  return {
      {.name = "dgx1",
       .description = "NVIDIA DGX-1: 8 V100 in a hybrid cube mesh of NVLink2, 6 units a GPU",
       .options = {fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"})},
       .facts = {nvlink_fact(2),
                 {"pairs of GPUs with one or two NVLinks", "SCCL (its topology file of the DGX-1)"},
                 {"0.7 us per traversal of NVLink", "TE-CCL (alpha of NDv2 and DGX-1)"}}},
      build_dgx1};
}

}  // namespace cclgym
