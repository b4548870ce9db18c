// Keys of YAML mappings that have no value.
#pragma once

#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

/// Throws UserError at the first key of a mapping that has no value: it would silently get its
/// default. `specs` are the mapping's keys, which check_keys has checked.
void refuse_empty_values(const YamlValue& mapping, const std::vector<OptionSpec>& specs);

}  // namespace cclgym
