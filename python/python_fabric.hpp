// Types that several parts of the extension module hand to each other.
#pragma once

#include <memory>
#include <string>

#include "collectives/ir.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::bindings {

struct PythonFabric {
  std::shared_ptr<const Fabric> fabric;
  std::string label;  ///< as in experiments: "ndv4 nodes=2"
};

/// A compiled program.
struct Compiled {
  std::shared_ptr<const ThreadBlockProgram> program;
};

}  // namespace cclgym::bindings
