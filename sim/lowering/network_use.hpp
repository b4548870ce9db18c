// Use of the network by a program: its kernels with messages between nodes, and their number.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/outline.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

struct NetworkUse {
  std::vector<std::uint8_t> crosses;  ///< by kernel: 1 if it has messages between nodes
  /// Maximum number of messages of a connection between nodes in one kernel.
  std::int64_t messages = 0;
};
[[nodiscard]] NetworkUse network_use(const ProgramOutline& outline, const Fabric& fabric);

}  // namespace cclgym
