// Names that the tests of noise share.
#pragma once

#include <cstddef>
#include <memory>

#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

inline constexpr auto kNetwork = static_cast<std::size_t>(LinkKind::Network);

inline std::shared_ptr<const Fabric> ndv4(int servers) {
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = servers;
  return make_fabric(spec);
}

}  // namespace cclgym::test
