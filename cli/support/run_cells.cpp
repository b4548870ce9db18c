#include "cli/support/run_cells.hpp"

#include <iostream>
#include <memory>
#include <unistd.h>

#include "cli/support/interrupt.hpp"
#include "cli/support/print.hpp"
#include "core/progress.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/worker_pool.hpp"

namespace cclgym {

const OptionSpec& jobs_option() {
  static const OptionSpec spec{.name = "jobs",
                               .kind = OptionKind::Integer,
                               .description = "number of worker processes",
                               .min = 1,
                               .max = 1024,
                               .default_text = "the number of cores"};
  return spec;
}

std::size_t jobs_of(const Arguments& arguments) {
  if (!arguments.has("jobs")) return usable_cores();
  return static_cast<std::size_t>(
      read_integer(arguments.text("jobs"), jobs_option(), argument_location("jobs")));
}

void run_cells(const Experiment& experiment, const RunOptions& options, bool quiet) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  InterruptNotice interrupt(experiment.cells.size(), terminal && !quiet);
  if (quiet) {
    run_experiment(experiment, options,
                   {.on_start = [&](std::size_t found, bool) { interrupt.update(found); },
                    .on_progress = [&](std::size_t done) { interrupt.update(done); }});
    return;
  }
  for (const std::string& text : experiment.warnings) print_warning(text);
  for (const std::string& line : experiment.skipped) print_error("left out: {}\n", line);
  std::unique_ptr<Progress> progress;
  const RunObserver observer{
      .on_start =
          [&](std::size_t found, bool dropped_row) {
            interrupt.update(found);
            if (dropped_row) {
              print_error("resuming: the incomplete last row of {} is dropped\n",
                          results_path(options.folder));
            }
            if (found > 0) {
              print_error("resuming: {} of {} cells are done\n", found, experiment.cells.size());
            }
            progress =
                std::make_unique<Progress>(std::cerr, terminal, experiment.cells.size(), found);
          },
      .on_progress =
          [&](std::size_t done) {
            interrupt.update(done);
            progress->update(done);
          }};
  try {
    run_experiment(experiment, options, observer);
  } catch (...) {
    if (progress) progress->leave_line();
    throw;
  }
}

}  // namespace cclgym
