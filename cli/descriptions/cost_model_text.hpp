// A parameter set as text and as JSON, for `cclgym describe cost-model NAME`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

/// The set of this name (cclgym list cost-models) or of this .yaml file. Throws UserError that
/// names the nearest set.
[[nodiscard]] ParameterSet named_parameter_set(const std::string& name);

/// Name, GPUs, the rows that the set was fitted to, and every parameter with its value and source.
[[nodiscard]] std::string cost_model_text(const ParameterSet& set);
/// The same; values are in SI units (s, B, B/s), and null where the set leaves a parameter to the
/// fabric or without limit.
[[nodiscard]] nlohmann::ordered_json cost_model_json(const ParameterSet& set);

}  // namespace cclgym
