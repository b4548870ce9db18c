// Model of a shipped fabric, and facts that several of them share. Internal to this layer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"
#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym {

/// A shipped fabric: its description, and a function that builds it from parameters in range.
struct FabricModel {
  FabricInfo info;
  std::function<std::shared_ptr<const Fabric>(const FabricParameters&)> build;
};

// Facts that several fabrics share.
[[nodiscard]] FabricFact nvlink_fact(int generation);  ///< bandwidth of an NVLink; generation 2
                                                       ///< to 5
[[nodiscard]] FabricFact infiniband_latency_fact();
[[nodiscard]] FabricFact pcie_fact(int generation);  ///< generation 3, 4 or 5, with 16 lanes

}  // namespace cclgym
