// Option --dry-run: what a command would do, and about how long it would take.
#pragma once

#include <string>

#include "experiments/run/run_experiment.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// First line of a dry run of a command that writes files.
inline constexpr const char* kNothingWritten = "nothing is written; without --dry-run:\n";

/// Prints the number of cells, of cells that the folder has already, and of workers, and an
/// estimate of the time: a few cells, evenly spread over the missing ones, are simulated here
/// without being written. The estimate takes their mean time, including the compilation of their
/// programs, for every missing cell. `json`: one JSON value instead of text. `table` is a file that
/// is made of the results, if there is one.
void print_dry_run(const Experiment& experiment, const RunOptions& options, bool json,
                   const std::string& table = "");

}  // namespace cclgym
