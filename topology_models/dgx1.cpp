#include <array>
#include <string>

#include "topology_models/builders.hpp"

namespace cclgym {

namespace {

constexpr int kGpus = 8;

// NVLink units between each pair of the eight V100: two quads of GPUs, each fully connected, and
// one cube edge a GPU; 6 units a GPU. From SCCL's topology file (msccl/topologies/nvidia.py).
constexpr std::array<std::array<int, kGpus>, kGpus> kUnits = {{
    {0, 2, 1, 1, 2, 0, 0, 0},
    {2, 0, 1, 2, 0, 1, 0, 0},
    {1, 1, 0, 2, 0, 0, 2, 0},
    {1, 2, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 2, 1, 1},
    {0, 1, 0, 0, 2, 0, 1, 2},
    {0, 0, 2, 0, 1, 1, 0, 2},
    {0, 0, 0, 1, 1, 2, 2, 0},
}};

std::shared_ptr<const Fabric> build(const FabricParameters& parameters) {
  FabricBuilder builder("dgx1");
  builder.set_gpu_model("V100");
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    builder.add_node({.name = "gpu" + std::to_string(gpu), .kind = NodeKind::Gpu});
  }
  for (int a = 0; a < kGpus; ++a) {
    for (int b = a + 1; b < kGpus; ++b) {
      const int units = kUnits[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      if (units == 0) continue;
      builder.add_duplex_link({.source = a,
                               .target = b,
                               .kind = LinkKind::NvLink,
                               .latency_s = parameters.latency_s,
                               .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                               .multiplicity = units,
                               .latency_stated = parameters.latency_stated});
    }
  }
  return builder.build();
}

}  // namespace

FabricModel dgx1_model() {
  return {{.name = "dgx1",
           .description = "NVIDIA DGX-1: 8 V100 in a hybrid cube mesh of NVLink2, 6 units a GPU",
           // 25 GB/s: an NVLink2 unit, one direction (NVIDIA V100 white paper). 0.7 us: the alpha
           // that TE-CCL uses for NVLink (its evaluation's NDv2 and DGX-1 topologies).
           .options = {bandwidth_option("25 GB/s"), latency_option("0.7us")}},
          build};
}

}  // namespace cclgym
