// What the shipped fabrics have in common. Internal to this layer.
#pragma once

#include <memory>
#include <string>

#include "topology_models/fabric.hpp"
#include "topology_models/registry.hpp"

namespace cclgym {

/// Every option of FabricSpec with its value: given, or the fabric's default, or the neutral value
/// (1 server, 0) where the fabric does not have the option.
struct FabricParameters {
  int servers = 1;
  int gpus = 0;
  double bandwidth_Bps = 0;
  double latency_s = 0;
  bool latency_stated = false;  ///< the latency was given
};

/// A shipped fabric: what it is, and how to build it from parameters that are in range.
struct FabricModel {
  FabricInfo info;
  std::shared_ptr<const Fabric> (*build)(const FabricParameters&);
};

// Records of the options; a model fills in its own default and bounds.
[[nodiscard]] OptionSpec servers_option(double max);
[[nodiscard]] OptionSpec gpus_option(double min, double max);
[[nodiscard]] OptionSpec bandwidth_option(std::string default_text);
[[nodiscard]] OptionSpec latency_option(std::string default_text);

[[nodiscard]] FabricModel dgx1_model();
[[nodiscard]] FabricModel dgx2_model();
[[nodiscard]] FabricModel ndv4_model();
[[nodiscard]] FabricModel ring_model();
[[nodiscard]] FabricModel fully_connected_model();

}  // namespace cclgym
