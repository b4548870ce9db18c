// Command-line options that describe a fabric, and its cost model.
#pragma once

#include <memory>
#include <string>

#include "cli/support/command.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// Declares --nodes, --gpus and the other options of fabrics that have a size or a binding.
void add_fabric_options(ArgumentReader& reader);

/// Name and options of a fabric as the arguments give them.
[[nodiscard]] FabricSpec fabric_spec_of(const std::string& name, const Arguments& arguments);
/// The fabric with that name or from that file, with the given options. Prints Fabric::warnings().
/// Throws UserError that names the option or the place in the file.
[[nodiscard]] std::shared_ptr<const Fabric> fabric_of(const std::string& name,
                                                      const Arguments& arguments);
/// The parameter set that an option names, or else that of the fabric (`auto`). Throws UserError
/// that names the option or the place in the file.
[[nodiscard]] ParameterSet parameter_set_of(const Arguments& arguments, const std::string& option,
                                            const Fabric& fabric);
/// Label in experiments and dispatch tables: the fabric's name with the given options, or the name
/// in the file.
[[nodiscard]] std::string fabric_label_of(const std::string& name, const Arguments& arguments,
                                          const Fabric& fabric);

}  // namespace cclgym
