// The folder of a run: experiment.yaml (a copy of the experiment), results.csv, timelines/,
// report.html.
#pragma once

#include <string>

#include "experiments/run/results.hpp"
#include "experiments/run/shard.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Default folder of a run: "results/NAME".
[[nodiscard]] std::string default_run_folder(const Experiment& experiment);
/// DIR/results.csv, or the file of a shard
[[nodiscard]] std::string results_path(const std::string& folder, const Shard& shard = {});
/// DIR/published.csv: the comparison with published speedups
[[nodiscard]] std::string published_path(const std::string& folder);
/// DIR/timelines/KEY.json, where '-' replaces every byte of the cell's key that is not plain in a
/// file name.
[[nodiscard]] std::string timeline_path(const std::string& folder, const std::string& cell_key);

/// Makes a folder and its parents. Throws UserError if that is impossible.
void make_folder(const std::string& folder);

/// Throws UserError if a run would overwrite an experiment.yaml, a report or timelines that no run
/// wrote, or if the folder has other files and no run at all.
void check_run_folder(const std::string& folder);

/// Throws UserError at `where` if `path` is one of the run's source files (experiment.yaml,
/// results.csv), from which its other files can be made again.
void refuse_file_of_run(const std::string& path, const std::string& folder,
                        const SourceLocation& where);

/// Writes DIR/experiment.yaml: the experiment's text below a line with its origin (relative paths
/// in it start there) and the engine of the run.
/// Throws UserError if the folder has shards of another experiment, or another number of them.
void check_shard_folder(const Experiment& experiment, const Shard& shard,
                        const std::string& folder);

void save_run_experiment(const Experiment& experiment, const std::string& folder);
/// Loads the experiment in the form in which a run simulated it. Throws UserError if the folder has
/// no run or if a file named by the experiment is gone.
[[nodiscard]] Experiment load_run_experiment(const std::string& folder);
/// Reads the results in the folder of a run of the experiment. Throws UserError if there are none,
/// or if one belongs to another experiment or version.
[[nodiscard]] ResultTable read_run_results(const Experiment& experiment, const std::string& folder);

}  // namespace cclgym
