// The cost model of an experiment: a name, a file or the fabric's own model, each possibly with
// some values overridden.
#pragma once

#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Reads the `cost_model` of an experiment as it applies to one fabric. Relative paths
/// start at the folder of the file that holds `value`. An overridden model is named after its base
/// and the differences: "a100 start_skew=2us". Throws UserError at the place of the mistake.
[[nodiscard]] CostModel read_cost_model_choice(const YamlValue& value, const Fabric& fabric);

/// The same with the sources of the values. An overridden model does not say to which rows it was
/// fitted.
[[nodiscard]] ParameterSet read_parameter_set_choice(const YamlValue& value, const Fabric& fabric);

/// The cost model for a name ("hockney"), the path of a parameter file, or "auto". Errors are
/// located at `where`, and relative paths start at the folder of that file.
[[nodiscard]] CostModel choose_cost_model(const std::string& text, const Fabric& fabric,
                                          const SourceLocation& where = {});

/// True if a cost model is named by the path of a parameter file.
[[nodiscard]] bool is_parameter_file(const std::string& text);

/// Throws UserError at `where` if there is no file with this path. `what` is the kind of file in
/// messages, e.g. "fabric file".
void check_exists(const std::string& path, std::string_view what, const SourceLocation& where);
/// Resolves a path against the folder of the file that names it at `where`. Throws UserError if
/// there is no such file.
[[nodiscard]] std::string existing_path_beside(const std::string& path, std::string_view what,
                                               const SourceLocation& where);

}  // namespace cclgym
