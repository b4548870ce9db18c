#include <string>

#include "topology_models/machines/machines.hpp"

namespace cclgym {

namespace {

std::shared_ptr<const Fabric> build_fully_connected(const FabricParameters& parameters) {
  FabricBuilder builder("fully_connected");
  for (int gpu = 0; gpu < parameters.gpus; ++gpu) {
    builder.add_node({.name = "gpu" + std::to_string(gpu)});
  }
  for (int a = 0; a < parameters.gpus; ++a) {
    for (int b = a + 1; b < parameters.gpus; ++b) {
      builder.add_duplex_link({.source = a,
                               .target = b,
                               .latency_s = parameters.latency_s,
                               .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                               .latency_stated = parameters.latency_stated});
    }
  }
  return builder.build();
}

}  // namespace

FabricModel fully_connected_model() {
  constexpr double kMostGpus = 1024;  // a million links
  return {{.name = "fully_connected",
           .description = "one duplex link between every two GPUs",
           .options = {fabric_option("gpus", {.min = 2, .max = kMostGpus}),
                       fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                       fabric_option("latency", {.default_text = "0.7us"})}},
          build_fully_connected};
}

}  // namespace cclgym
