// `baseline` and `timeline`: selection of cells of an experiment.
#pragma once

#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Reads a selector of an experiment whose fabrics and cells are known. `specs` are the keys it may
/// have; `what` is its name in messages: "baseline". Throws UserError at the place of a value that
/// the experiment does not have, and if no cell matches.
[[nodiscard]] CellSelector read_selector(const YamlValue& value,
                                         const std::vector<OptionSpec>& specs,
                                         std::string_view what, const Experiment& experiment,
                                         const ExperimentAxes& axes);

}  // namespace cclgym
