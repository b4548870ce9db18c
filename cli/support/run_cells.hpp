// Simulates the cells of an experiment for a command: progress, skipped combinations, Ctrl-C.
#pragma once

#include <cstddef>

#include "cli/support/command.hpp"
#include "experiments/run/run_experiment.hpp"

namespace cclgym {

/// The record of --jobs.
[[nodiscard]] const OptionSpec& jobs_option();
/// Value of --jobs; default: one per core.
[[nodiscard]] std::size_t jobs_of(const Arguments& arguments);

/// Simulates the cells with progress on standard error; prints nothing there if `quiet`.
void run_cells(const Experiment& experiment, const RunOptions& options, bool quiet);

}  // namespace cclgym
