// The key `network_plugin` of fabric files and of clusters.yaml.
#pragma once

#include <vector>

#include "core/options/field.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// The keys, each with the member that it sets.
[[nodiscard]] const std::vector<Field<NetworkPlugin>>& network_plugin_fields();
/// Their records.
[[nodiscard]] std::vector<OptionSpec> network_plugin_options();
/// The record of the key that holds them.
[[nodiscard]] const OptionSpec& network_plugin_option();

/// Reads the mapping. Throws UserError at the place of the fault.
[[nodiscard]] NetworkPlugin read_network_plugin(const YamlValue& value);

}  // namespace cclgym
