// The shipped fabrics, one function each. Internal to this layer.
#pragma once

#include "topology_models/servers/builders.hpp"

namespace cclgym {

[[nodiscard]] FabricModel dgx1_model();
[[nodiscard]] FabricModel dgx2_model();
[[nodiscard]] FabricModel ndv2_model();
[[nodiscard]] FabricModel ndv4_model();
[[nodiscard]] FabricModel abci_v_model();
[[nodiscard]] FabricModel abci_a_model();
[[nodiscard]] FabricModel z52_model();
[[nodiscard]] FabricModel amd_mi250x_model();
[[nodiscard]] FabricModel frontier_model();
[[nodiscard]] FabricModel perlmutter_model();
[[nodiscard]] FabricModel polaris_model();
[[nodiscard]] FabricModel alps_model();
[[nodiscard]] FabricModel ring_model();
[[nodiscard]] FabricModel torus_model();
[[nodiscard]] FabricModel fully_connected_model();
[[nodiscard]] FabricModel ethernet_model();
[[nodiscard]] FabricModel aws_g5_model();
[[nodiscard]] FabricModel a100_tcp_model();

}  // namespace cclgym
