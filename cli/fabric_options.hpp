// The options by which a command is told a fabric.
#pragma once

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Declares --nodes and --gpus.
void add_fabric_options(ArgumentReader& reader);

/// The fabric of that name or .yaml file, with what --nodes and --gpus say. Throws UserError.
[[nodiscard]] std::shared_ptr<const Fabric> fabric_of(const std::string& name,
                                                      const Arguments& arguments);

}  // namespace cclgym
