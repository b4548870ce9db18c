// The options by which a command is told a fabric.
#pragma once

#include <memory>
#include <string>

#include "cli/support/command.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Declares --nodes, --gpus and the other options of fabrics that have a size or a binding.
void add_fabric_options(ArgumentReader& reader);

/// The fabric of that name or .yaml file, with what those options say. Throws UserError.
[[nodiscard]] std::shared_ptr<const Fabric> fabric_of(const std::string& name,
                                                      const Arguments& arguments);
/// What experiments and dispatch tables call it: its name with the options that are given, or the
/// name in the file.
[[nodiscard]] std::string fabric_label_of(const std::string& name, const Arguments& arguments,
                                          const Fabric& fabric);

}  // namespace cclgym
