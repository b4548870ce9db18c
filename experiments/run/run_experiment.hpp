// Runs an experiment: simulates its cells, writes results, resumes a killed run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/tasks/run_tasks.hpp"
#include "experiments/run/shard.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Callbacks during a run. Each may be empty.
struct RunObserver {
  /// Called once, before the first cell is simulated: number of cells already done, and whether an
  /// incomplete last row was dropped.
  std::function<void(std::size_t found, bool dropped_row)> on_start;
  /// `done` is the number of cells in the results file, including those already there.
  std::function<void(std::size_t done)> on_progress;
  /// Called with a sentence about each fault that the run survives.
  std::function<void(const std::string& sentence)> on_fault{};
};

struct RunOptions {
  std::string folder;          ///< made if it does not exist
  TaskPlace* place = nullptr;  ///< place of the cells; null: this process and its workers
  /// The set that the command has shared for these cells (sent_cells.hpp), with the experiment as
  /// its `common`; null: the run shares its cells itself, and all processes load the experiment.
  const TaskSet* sent = nullptr;
  std::size_t jobs = 1;        ///< worker processes; 1: all work in this process
  bool fresh = false;          ///< delete existing results
  Shard shard{};               ///< part of the cells that is simulated
  double cell_timeout_s = 0;   ///< a cell that takes longer is killed; 0: no limit
  double peer_timeout_s = 60;  ///< a node that is silent for longer is thought lost (MPI)
  /// End of the message about results of another experiment in the folder: what to do.
  std::string advice = "choose another folder with --out, or start over with --fresh";
};

/// Simulates the cells of the shard that are not yet in its file of results (DIR/results.csv, or
/// DIR/shard-3-of-16.csv) and appends their rows in cell order, so that the file is byte-identical
/// for any number of jobs and after any number of interruptions. Also writes DIR/experiment.yaml,
/// and first removes the experiment's report and timelines: after a killed run they would look
/// complete. With more than one job, this process must have no other threads. Throws UserError
/// (also for a folder that cannot be written or has results of another experiment) or
/// SimulationStalled.
void run_experiment(const Experiment& experiment, const RunOptions& options,
                    const RunObserver& observer = {});

/// Writes the experiment's timelines into DIR/timelines and returns their paths.
std::vector<std::string> write_timelines(const Experiment& experiment, const std::string& folder);

}  // namespace cclgym
