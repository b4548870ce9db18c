// cclgym run --dry-run: what a run would simulate, and about how long it would take.
#pragma once

#include "experiments/run/run_experiment.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Prints the number of cells, of cells that the folder has already, and of workers, and an
/// estimate of the time: a few cells, evenly spread over the missing ones, are simulated here
/// without being written. The estimate takes their mean time, including the compilation of their
/// programs, for every missing cell. `json`: one JSON value instead of text.
void print_dry_run(const Experiment& experiment, const RunOptions& options, bool json);

}  // namespace cclgym
