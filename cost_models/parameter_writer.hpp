// Cost models as parameter sets in YAML, the way back of parameter_file.hpp.
#pragma once

#include <map>
#include <string>

#include "cost_models/cost_model.hpp"

namespace cclgym {

/// A parameter set that read_cost_model reads: every parameter of the model, each with its source
/// where `sources` has one by the parameter's name (cost_parameters). Continuous values are rounded
/// to four significant digits. `comment` comes first, each line behind a "#". The model is not
/// "hockney".
[[nodiscard]] std::string to_yaml(const CostModel& model,
                                  const std::map<std::string, std::string>& sources,
                                  const std::string& comment);

}  // namespace cclgym
