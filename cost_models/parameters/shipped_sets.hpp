// The parameter sets that come with cclgym, and the choice of one for a fabric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Names of the shipped models: "hockney" and the parameter sets of model "protocol" ("a100",
/// "h100-cluster00", "openmpi-tcp", …; docs/cost-models.md lists all).
[[nodiscard]] const std::vector<std::string>& cost_model_names();
/// A shipped model by name. Throws UserError naming the nearest one.
[[nodiscard]] CostModel shipped_cost_model(std::string_view name);

/// The cost model that a user names: "auto" (the parameter set of the fabric or of its GPU model,
/// or of the nearest GPU model; hockney if the fabric states no GPU model), the name of a shipped
/// model, or the path of a parameter file (ends in .yaml or .yml). CostModel::misfit says if it
/// does not describe the fabric's GPUs. Throws UserError naming the nearest model.
[[nodiscard]] CostModel cost_model_for(std::string_view name, const Fabric& fabric);

/// One sentence that warns of times under a model that does not describe this fabric; empty if
/// CostModel::misfit is empty.
[[nodiscard]] std::string cost_model_warning(const CostModel& model, const Fabric& fabric);

/// A shipped model as a set; "hockney" has no sources. Throws UserError naming the nearest one.
[[nodiscard]] ParameterSet shipped_parameter_set(std::string_view name);
/// The choice of cost_model_for, as a set.
[[nodiscard]] ParameterSet parameter_set_for(std::string_view name, const Fabric& fabric);

}  // namespace cclgym
