// Simulating the cells of an experiment from a command: progress, what is left out, Ctrl-C.
#pragma once

#include <cstddef>

#include "cli/support/command.hpp"
#include "experiments/run/run_experiment.hpp"

namespace cclgym {

/// The record of --jobs.
[[nodiscard]] const OptionSpec& jobs_option();
/// What --jobs says: by default one a core.
[[nodiscard]] std::size_t jobs_of(const Arguments& arguments);

/// Simulates the cells, with what happens on the way on standard error; nothing there if `quiet`.
void run_cells(const Experiment& experiment, const RunOptions& options, bool quiet);

}  // namespace cclgym
