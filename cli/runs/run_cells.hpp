// Runs an experiment for a command: progress, skipped combinations, Ctrl-C, report and table.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/support/command.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/published/published.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_experiment.hpp"

namespace cclgym {

/// The record of --jobs.
[[nodiscard]] const OptionSpec& jobs_option();
/// Value of --jobs; default: one per core.
[[nodiscard]] std::size_t jobs_of(const Arguments& arguments);
/// The record of --cell-timeout.
[[nodiscard]] const OptionSpec& cell_timeout_option();
/// Value of --cell-timeout in seconds; default: 0, no limit.
[[nodiscard]] double cell_timeout_of(const Arguments& arguments);
/// The record of --peer-timeout.
[[nodiscard]] const OptionSpec& peer_timeout_option();
/// Value of --peer-timeout in seconds.
[[nodiscard]] double peer_timeout_of(const Arguments& arguments);

/// Prints the faults that tasks survive on standard error (TaskOptions::notice); empty if `quiet`.
[[nodiscard]] std::function<void(const std::string& sentence)> notice_of_faults(bool quiet);

/// Simulates the cells with progress on standard error; prints nothing there if `quiet`.
void run_cells(const Experiment& experiment, const RunOptions& options, bool quiet);

/// Files that an experiment names for its report.
struct ReportInputs {
  std::vector<MeasuredRow> measured;
  std::vector<PublishedRow> published;
};
/// Reads them before any work, so that errors in them are found first. Prints warnings about
/// measured runs that a simulation cannot repeat.
[[nodiscard]] ReportInputs read_report_inputs(const Experiment& experiment);

/// Writes the files of a run that are made from DIR/results.csv, and unless `quiet` prints the
/// table and the paths. Throws UserError if a file cannot be written.
void finish_run(const Experiment& experiment, const ReportInputs& inputs, const std::string& folder,
                bool quiet);

/// The rows of DIR/results.csv for --json.
[[nodiscard]] nlohmann::ordered_json results_json(const std::string& folder);

}  // namespace cclgym
