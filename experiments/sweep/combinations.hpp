// `only`: the combinations of the axes to which an experiment is restricted.
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
/// place of a value that is not on the experiment's axes, and where channels or instances of a
/// fixed program do not include its own number.
[[nodiscard]] std::vector<Combinations> read_combinations(const YamlValue& document,
                                                          const ExperimentAxes& axes,
                                                          const AlgorithmLibrary& library);

/// True if the experiment keeps this configuration with at least one protocol. Algorithms that no
/// item names are kept with all configurations.
[[nodiscard]] bool wanted_with_any_protocol(const ExperimentAxes& axes, const Config& config);
/// True if the experiment keeps this configuration with its own protocol. Tiles and slots are
/// ignored.
[[nodiscard]] bool wanted(const ExperimentAxes& axes, const Config& config);

}  // namespace cclgym
