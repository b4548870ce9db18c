// Parameter sets in YAML (docs/cost-models.md): the option records and the reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

/// Keys of a parameter set. Every value may be written plainly ("6.6us") or with its source
/// ("{value: 6.6us, source: …}").
[[nodiscard]] const std::vector<OptionSpec>& cost_model_options();
/// Keys of one protocol under `protocols`.
[[nodiscard]] const std::vector<OptionSpec>& protocol_options();
/// Keys of `alpha` and `link_efficiency`: the link kinds.
[[nodiscard]] const std::vector<OptionSpec>& alpha_options();
[[nodiscard]] const std::vector<OptionSpec>& mpi_options();
[[nodiscard]] const std::vector<OptionSpec>& matching_options();
[[nodiscard]] const std::vector<OptionSpec>& link_efficiency_options();

/// The entry of a parameter ("protocols.LL.slots") in a parameter set, which may be a mapping with
/// its source; nullptr if the set does not state it.
[[nodiscard]] const YamlValue* find_parameter(const YamlValue& document, std::string_view name);

/// Reads a parameter set. Throws UserError at the place of the fault.
[[nodiscard]] CostModel read_cost_model(const YamlValue& document);

}  // namespace cclgym
