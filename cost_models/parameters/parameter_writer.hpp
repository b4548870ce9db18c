// Writes cost models as parameter sets in YAML, which parameter_file.hpp reads.
#pragma once

#include <string>

#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

/// Text that read_parameter_set reads as `set`: every parameter of the model, with its source
/// and the fitted rows if they are known. Continuous values are rounded to four significant digits.
/// `comment` comes first, each line behind a "#". The model must not be "hockney".
[[nodiscard]] std::string to_yaml(const ParameterSet& set, const std::string& comment);

}  // namespace cclgym
