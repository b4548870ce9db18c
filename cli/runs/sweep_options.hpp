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

/// Prints what run_sweep would measure: the number of cells, of cells that the file has, and an
/// upper bound of the time. `json`: one JSON value instead of text.
void print_planned_sweep(const MeasurementBackend& backend, const Arguments& arguments,
                         const std::string& path, bool json);

}  // namespace cclgym
