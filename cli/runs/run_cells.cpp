#include "cli/runs/run_cells.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "core/progress.hpp"
#include "core/ranks/launch.hpp"
#include "core/tasks/run_tasks.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"

namespace cclgym {

namespace {

// Value of an option in seconds.
double seconds_of(const Arguments& arguments, const OptionSpec& spec, double otherwise) {
  if (!arguments.has(spec.name)) return otherwise;
  return read_time_s(arguments.text(spec.name), spec, argument_location(spec.name));
}

}  // namespace

const OptionSpec& jobs_option() {
  static const OptionSpec spec{.name = "jobs",
                               .kind = OptionKind::Integer,
                               .description = "number of worker processes; with mpirun, per rank",
                               .min = 1,
                               .max = 1024,
                               .default_text = "the number of cores; with mpirun, 1"};
  return spec;
}

std::size_t jobs_of(const Arguments& arguments) {
  // With mpirun, each rank has one simulator unless --jobs says otherwise.
  if (!arguments.has("jobs")) return launched_rank() ? 1 : usable_cores();
  return static_cast<std::size_t>(
      read_integer(arguments.text("jobs"), jobs_option(), argument_location("jobs")));
}

const OptionSpec& cell_timeout_option() {
  static const OptionSpec spec{
      .name = "cell-timeout",
      .kind = OptionKind::Time,
      .description = "time after which a cell is given up; the others go on",
      .default_text = "no limit"};
  return spec;
}

double cell_timeout_of(const Arguments& arguments) {
  return seconds_of(arguments, cell_timeout_option(), 0);
}

const OptionSpec& peer_timeout_option() {
  static const OptionSpec spec{
      .name = "peer-timeout",
      .kind = OptionKind::Time,
      .description = "with mpirun: silence after which a node's work goes to other nodes",
      .default_text = "60s"};
  return spec;
}

double peer_timeout_of(const Arguments& arguments) {
  return seconds_of(arguments, peer_timeout_option(), 60);
}

std::function<void(const std::string& sentence)> notice_of_faults(bool quiet) {
  if (quiet) return {};
  return [](const std::string& sentence) { print_error("{}\n", sentence); };
}

void run_cells(const Experiment& experiment, const RunOptions& options, bool quiet) {
  const bool terminal = standard_error_redraws();
  const std::size_t cells = options.shard.size(experiment.cells.size());
  InterruptNotice interrupt(cells, terminal && !quiet);
  if (quiet) {
    run_experiment(experiment, options,
                   {.on_start = [&](std::size_t found, bool) { interrupt.update(found); },
                    .on_progress = [&](std::size_t done) { interrupt.update(done); }});
    return;
  }
  for (const std::string& text : experiment.warnings) print_warning(text);
  if (experiment.skipped.size() == 1) print_error("left out: {}\n", experiment.skipped.front());
  if (experiment.skipped.size() > 1) {
    print_error("left out: {} combinations, which report.html and --dry-run list; the first: {}\n",
                experiment.skipped.size(), experiment.skipped.front());
  }
  std::unique_ptr<Progress> progress;
  const RunObserver observer{
      .on_start =
          [&](std::size_t found, bool dropped_row) {
            interrupt.update(found);
            if (dropped_row) {
              print_error("resuming: the incomplete last row of {} is dropped\n",
                          results_path(options.folder, options.shard));
            }
            if (found > 0) {
              print_error("resuming: {} of {} cells are done\n", found, cells);
            }
            progress = std::make_unique<Progress>(std::cerr, terminal, cells, found);
          },
      .on_progress =
          [&](std::size_t done) {
            interrupt.update(done);
            progress->update(done);
          },
      .on_fault =
          [&](const std::string& sentence) {
            if (progress) progress->leave_line();
            print_error("{}\n", sentence);
          }};
  try {
    run_experiment(experiment, options, observer);
  } catch (...) {
    if (progress) progress->leave_line();
    throw;
  }
}

ReportInputs read_report_inputs(const Experiment& experiment) {
  ReportInputs inputs{read_measured_files(experiment), read_published_files(experiment)};
  for (const std::string& warning : warnings_of(inputs.measured)) print_warning(warning);
  return inputs;
}

void finish_run(const Experiment& experiment, const ReportInputs& inputs, const std::string& folder,
                bool quiet) {
  const std::vector<ResultRow> rows = read_results(results_path(folder)).rows;
  const std::vector<std::string> timelines = write_timelines(experiment, folder);
  const std::string report = write_report(experiment, rows, folder, "", dispatchers_of(experiment));
  const std::vector<PublishedRow>& published = inputs.published;
  const std::vector<PublishedBlock> compared = compare_published(experiment, rows, published);
  if (!published.empty()) write_text_file(published_path(folder), published_csv(compared));
  if (quiet) return;
  print_table(std::cout, experiment, rows, inputs.measured);
  std::cout << published_text(compared, published.size());
  std::cout << "\nresults   " << results_path(folder) << "\nreport    " << report << '\n';
  if (!published.empty()) std::cout << "published " << published_path(folder) << '\n';
  for (const std::string& path : timelines) std::cout << "timeline  " << path << '\n';
  std::cout.flush();
}

nlohmann::ordered_json results_json(const std::string& folder) {
  std::string csv = result_header() + '\n';
  for (const ResultRow& row : read_results(results_path(folder)).rows) csv += to_csv(row) + '\n';
  return json_rows(csv, {"experiment_hash", "cell_key", "fabric", "algorithm", "program",
                         "cost_model", "cost_model_hash", "version"});
}

}  // namespace cclgym
