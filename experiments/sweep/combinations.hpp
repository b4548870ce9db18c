// `only`: which combinations of the axes an experiment keeps, where it does not want all.
#pragma once

#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "experiments/sweep/axes.hpp"

namespace cclgym {

/// The keys of an item of `only`.
[[nodiscard]] const std::vector<OptionSpec>& combination_options();

/// Reads the items of `only` for an experiment whose axes have been read. Throws UserError at the
/// place of a value that the experiment does not have.
[[nodiscard]] std::vector<Combinations> read_combinations(const YamlValue& document,
                                                          const ExperimentAxes& axes);

/// Does the experiment want this configuration, its protocol aside? Algorithms that no item names
/// are wanted whole.
[[nodiscard]] bool wanted_with_any_protocol(const ExperimentAxes& axes, const Config& config);
/// The same with the protocol. Tiles and slots are not looked at.
[[nodiscard]] bool wanted(const ExperimentAxes& axes, const Config& config);

}  // namespace cclgym
