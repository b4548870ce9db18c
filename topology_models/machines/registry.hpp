// The fabrics that runs and sweeps can choose from, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_option_error.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// The shipped fabrics, in the order in which `list` shows them.
[[nodiscard]] const std::vector<FabricInfo>& fabric_infos();

/// The shipped fabric of this name, or null (a fabric file).
[[nodiscard]] const FabricInfo* find_fabric_info(std::string_view name);

/// Builds a shipped fabric or loads one from a file. Throws FabricOptionError if the fabric does
/// not exist (the message names the nearest one), if it lacks an option that is given, or if a
/// value is out of range; UserError if the file is wrong.
[[nodiscard]] std::shared_ptr<const Fabric> make_fabric(const FabricSpec& spec);

/// Label of a fabric in results: its name and the options that were given, e.g. "ring" or
/// "ring gpus=16 bandwidth=50GB/s".
[[nodiscard]] std::string fabric_label(const FabricSpec& spec);
/// The same, with a fabric file called by the `name` that it states: "two-islands", not its path.
/// `fabric` is the fabric of `spec`.
[[nodiscard]] std::string fabric_label(const FabricSpec& spec, const Fabric& fabric);
/// True for the path of a file with a fabric: it has a dot or a slash, as no shipped fabric has.
[[nodiscard]] bool is_fabric_file(std::string_view name);
/// A label as labels are compared: without spaces, and with the options called as fabric_label()
/// calls them, whatever valid name they have ("ndv4 nodes=2" and "ndv4 servers=2" are equal).
[[nodiscard]] std::string comparable_fabric_label(std::string_view label);
/// The label among `known` that is the same text or else, as labels are compared, equal; nullptr if
/// there is none.
[[nodiscard]] const std::string* find_fabric_label(const std::vector<std::string>& known,
                                                   std::string_view label);

/// The records of the keys that read_fabric_spec takes: `name` and every option of FabricSpec.
[[nodiscard]] const std::vector<OptionSpec>& fabric_spec_options();

/// Reads a FabricSpec: a name ("dgx1") or a mapping ({name: ring, gpus: 16}). A relative path of a
/// fabric file is taken from the folder of the YAML file that names it. Throws UserError at the
/// place of the mistake; it checks the options as make_fabric does.
[[nodiscard]] FabricSpec read_fabric_spec(const YamlValue& value);

}  // namespace cclgym
