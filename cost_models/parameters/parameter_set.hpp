// A parameter set with the sources of its values and the measured rows that it was fitted to.
// Simulations need only the cost model (cost_model.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/fitted_rows.hpp"

namespace cclgym {

struct ParameterSet {
  CostModel model{};
  /// The `source` of each value that the set states, by the parameter's name (cost_parameters);
  /// empty if it states only the value.
  std::map<std::string, std::string> sources{};
  /// The rows that the values come from, including the rows of a fit's start. nullopt: the set does
  /// not say (it has no `fitted_to`, and not every value says that it was not fitted).
  std::optional<std::vector<FittedRows>> fitted_to{};

  /// The communication library that the values describe; empty: NCCL and RCCL.
  std::string library{};

  /// Reason why no measured times tell how wrong the set is, for example because its values come
  /// from the set of another GPU; empty: there are some, or the set does not say.
  std::string unmeasured{};

  /// The `source` of a parameter; kDefaultSource if the set leaves the parameter at its default,
  /// kNoSource if it states only the value.
  [[nodiscard]] std::string source_of(const std::string& parameter) const;
};

/// Reads a parameter set from a YAML file (docs/cost-models.md). Throws UserError with the place.
[[nodiscard]] CostModel load_cost_model(const std::string& path);

/// Reads a parameter set. Values need no source, and a source may be any text. Throws UserError
/// at the place of the fault.
[[nodiscard]] ParameterSet read_parameter_set(const YamlValue& document);
/// Reads a parameter set from a file (docs/cost-models.md).
[[nodiscard]] ParameterSet load_parameter_set(const std::string& path);
}  // namespace cclgym
