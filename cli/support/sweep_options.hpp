// Command-line options of a sweep, and its output.
#pragma once

#include <string>

#include "calibration/measure/sweep.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --warmup, --repeats, --time-per-cell, --timeout, --seed, --fresh and --quiet.
void add_sweep_options(ArgumentReader& reader);
/// Measures the cells that `path` does not have yet, with progress on standard error.
SweepResult run_sweep(const MeasurementBackend& backend, const Arguments& arguments,
                      const std::string& path);

}  // namespace cclgym
