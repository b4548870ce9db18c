// Parameter sets in YAML (docs/cost-models.md): the option records and the reader.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

/// The kinds of links, in the order of the keys that name them.
inline constexpr std::array<LinkKind, 4> kLinkKinds{LinkKind::NvLink, LinkKind::Pcie,
                                                    LinkKind::Network, LinkKind::Generic};

/// Keys of a parameter set. Every value may be written plainly ("6.6us") or with where it comes
/// from
/// ("{value: 6.6us, source: …}").
[[nodiscard]] const std::vector<OptionSpec>& cost_model_options();
/// Keys of one protocol under `protocols`.
[[nodiscard]] const std::vector<OptionSpec>& protocol_options();
/// Keys of `alpha` and `link_efficiency`: the link kinds.
[[nodiscard]] const std::vector<OptionSpec>& alpha_options();
[[nodiscard]] const std::vector<OptionSpec>& link_efficiency_options();

/// Reads a parameter set. Throws UserError with the place of what is wrong.
[[nodiscard]] CostModel read_cost_model(const YamlValue& document);

}  // namespace cclgym
