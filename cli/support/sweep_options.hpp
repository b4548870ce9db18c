// How a sweep is measured, and what people see of it.
#pragma once

#include <string>

#include "calibration/measure/sweep.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --warmup, --repeats, --time-per-cell, --timeout, --seed, --fresh and --quiet.
void add_sweep_options(ArgumentReader& reader);
/// Measures what `path` does not have yet, as the options say, with progress on standard error.
SweepResult run_sweep(const MeasurementBackend& backend, const Arguments& arguments,
                      const std::string& path);

}  // namespace cclgym
