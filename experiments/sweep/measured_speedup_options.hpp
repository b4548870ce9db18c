// The keys of `measured_speedup`, and the check that the measured files have its configurations.
#pragma once

#include <span>
#include <vector>

#include "core/options/option.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// The keys of `measured_speedup`.
[[nodiscard]] const std::vector<OptionSpec>& measured_speedup_options();

/// Throws UserError if the experiment names a measured configuration that is not in its files.
void check_measured_speedup(const Experiment& experiment, std::span<const MeasuredRow> measured);

}  // namespace cclgym
