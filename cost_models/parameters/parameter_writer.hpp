// Cost models as parameter sets in YAML, the way back of parameter_file.hpp.
#pragma once

#include <string>
#include <string_view>

#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

/// What read_parameter_set reads: every parameter of the model, each with its source where the set
/// has one, and the rows that it was fitted to where it says so. Continuous values are rounded to
/// four significant digits. `comment` comes first, each line behind a "#". The model is not
/// "hockney".
[[nodiscard]] std::string to_yaml(const ParameterSet& set, const std::string& comment);

/// A text as a YAML scalar in double quotes, control characters as spaces.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

}  // namespace cclgym
