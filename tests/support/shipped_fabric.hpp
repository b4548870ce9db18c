// Shipped fabrics by name.
#pragma once

#include <memory>
#include <string>

#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

/// `without`: parts that are left out, as in FabricSpec.
inline std::shared_ptr<const Fabric> fabric_of(const std::string& name, int servers = 1,
                                               const std::string& without = {}) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = servers;
  if (!without.empty()) spec.without = without;
  return make_fabric(spec);
}

}  // namespace cclgym::test
