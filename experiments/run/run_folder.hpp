// The folder of a run: experiment.yaml (what was run), results.csv, timelines/ and report.html.
#pragma once

#include <string>

#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Where a run goes unless told otherwise: "results/NAME".
[[nodiscard]] std::string default_run_folder(const Experiment& experiment);
/// DIR/results.csv
[[nodiscard]] std::string results_path(const std::string& folder);
/// DIR/published.csv: the comparison with published speedups
[[nodiscard]] std::string published_path(const std::string& folder);
/// DIR/timelines/KEY.json with every byte of the cell's key that is not plain in a file name as
/// '-'.
[[nodiscard]] std::string timeline_path(const std::string& folder, const std::string& cell_key);

/// Makes a folder and those it lies in. Throws UserError if that is impossible.
void make_folder(const std::string& folder);

/// Throws UserError if a run would write over an experiment.yaml, a report or timelines that no run
/// wrote.
void check_run_folder(const std::string& folder);

/// Throws UserError at `where` if `path` is a file of a run from which the others can be made
/// again.
void refuse_file_of_run(const std::string& path, const std::string& folder,
                        const SourceLocation& where);

/// Writes DIR/experiment.yaml: the experiment's text under a line that says where it came from
/// (paths in it are seen from there) and the engine of the run.
void save_run_experiment(const Experiment& experiment, const std::string& folder);
/// The experiment of a run, as it was run. Throws UserError if the folder has no run or a file that
/// the experiment names is gone.
[[nodiscard]] Experiment load_run_experiment(const std::string& folder);
/// The results in the folder of a run of the experiment. Throws UserError if there are none or one
/// is of another experiment or version.
[[nodiscard]] ResultTable read_run_results(const Experiment& experiment, const std::string& folder);

}  // namespace cclgym
