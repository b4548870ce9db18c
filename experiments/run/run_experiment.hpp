// An experiment carried out: cells simulated, results written, a killed run resumed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// What a run tells while it goes on. Each may be empty.
struct RunObserver {
  /// How many cells were found done, once, before the first is simulated; and whether a row that
  /// was cut off in the middle was dropped.
  std::function<void(std::size_t found, bool dropped_row)> on_start;
  /// `done` cells are in the results file, those found included.
  std::function<void(std::size_t done)> on_progress;
};

struct RunOptions {
  std::string folder;    ///< made if it is not there
  std::size_t jobs = 1;  ///< worker processes; 1: this process does the work
  bool fresh = false;    ///< throw away results that are there
};

/// Simulates the cells that are not yet in DIR/results.csv and appends their rows in cell order, so
/// that the file is the same, byte for byte, for any number of jobs and however often the run was
/// killed and started again. Also writes DIR/experiment.yaml, and removes a report and timelines of
/// the experiment that are there, because they would look complete when the run is killed. With
/// more than one job, this process must have no other threads. Throws UserError (also for a folder
/// that cannot be written or has results of another experiment) or SimulationStalled.
void run_experiment(const Experiment& experiment, const RunOptions& options,
                    const RunObserver& observer = {});

/// Writes the timelines that the experiment asks for into DIR/timelines and returns their paths.
std::vector<std::string> write_timelines(const Experiment& experiment, const std::string& folder);

}  // namespace cclgym
