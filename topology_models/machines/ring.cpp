#include <string>

#include "topology_models/machines/machines.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_ring(const FabricParameters& parameters) {
  const int gpus = parameters.gpus;
  FabricBuilder builder("ring");
  for (int gpu = 0; gpu < gpus; ++gpu) builder.add_node({.name = "gpu" + std::to_string(gpu)});
  // Two GPUs are one neighbour pair, not two.
  for (int gpu = 0; gpu < (gpus == 2 ? 1 : gpus); ++gpu) {
    builder.add_duplex_link({.source = gpu,
                             .target = (gpu + 1) % gpus,
                             .latency_s = parameters.latency_s,
                             .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                             .latency_stated = parameters.latency_stated});
  }
  return builder.build();
}

}  // namespace

FabricModel ring_model() {
  constexpr double kMostGpus = 65536;
  return {{.name = "ring",
           .description = "GPUs in a circle, with one duplex link between neighbours",
           .options = {fabric_option("gpus", {.min = 2, .max = kMostGpus}),
                       fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                       fabric_option("latency", {.default_text = "0.7us"})}},
          build_ring};
}

}  // namespace cclgym
