// cclgym tune-dispatch: derives the fastest dispatch table from a sweep.
#include "experiments/summary/tune_dispatch.hpp"

#include <filesystem>
#include <fmt/core.h>

#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "cli/support/run_cells.hpp"
#include "core/files/text_file.hpp"
#include "core/version.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/load_experiment.hpp"

namespace cclgym {

namespace {

const OptionSpec kTolerance{.name = "tolerance",
                            .kind = OptionKind::Real,
                            .description =
                                "max relative slowdown of a range's configuration at a tested size "
                                "(0.01: 1 %); larger values make the table shorter",
                            .min = 0,
                            .max = 1,
                            .default_text = "0.01"};

// The experiment of a folder with results, or of a file, whose cells are then simulated first.
Experiment sweep_of(const Arguments& arguments, std::string& folder) {
  const std::string& source = arguments.text("SWEEP");
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    for (const char* option : {"results", "jobs"}) {
      if (!arguments.has(option)) continue;
      throw UserError(argument_location(option),
                      "is for a sweep that has not run yet; the "
                      "folder has its results; leave it out");
    }
    folder = source;
    return load_run_experiment(folder);
  }
  Experiment experiment = load_experiment(source);
  folder = arguments.has("results") ? arguments.text("results") : default_run_folder(experiment);
  const std::string advice = fmt::format(
      "choose another folder with --results, or start over with cclgym run {} --out {} --fresh",
      source, folder);
  run_cells(experiment, {.folder = folder, .jobs = jobs_of(arguments), .advice = advice},
            arguments.has("quiet"));
  return experiment;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

int tune(const std::vector<std::string>& args) {
  const auto arguments =
      ArgumentReader(tune_dispatch_command())
          .positional("SWEEP", "experiment file, which is run, or the folder of a finished run")
          .output("out,o", "TABLE", "dispatch table to write (.yaml)")
          .option(kTolerance, "X")
          .option("results", "DIR", "folder for the sweep's results [default: results/NAME]")
          .option(jobs_option(), "N")
          .flag("quiet", "print only errors")
          .read(args);
  if (!arguments) return 0;
  static_cast<void>(arguments->required("out"));
  const double tolerance =
      read_real(arguments->text_or_default(kTolerance), kTolerance, argument_location("tolerance"));
  std::string folder;
  const Experiment experiment = sweep_of(*arguments, folder);
  refuse_file_of_run(arguments->text("out"), folder, argument_location("out"));
  const std::vector<ResultRow> rows = read_run_results(experiment, folder).rows;
  if (rows.size() < experiment.cells.size()) {
    throw UserError(fmt::format("{}: {} of {} cells have no result; finish the run first",
                                results_path(folder), experiment.cells.size() - rows.size(),
                                experiment.cells.size()));
  }
  const std::vector<TunedBlock> blocks = tune_dispatch(experiment, rows, tolerance);
  const std::string comment = fmt::format(
      "Written by cclgym tune-dispatch {} from experiment {} ({}).\n"
      "At every tested size at most {} % slower than the fastest of the sweep.\n",
      program_version(), experiment.name, experiment.hash(), 100 * tolerance);
  const std::string& path = arguments->text("out");
  write_text_file(path, to_yaml(dispatch_table(experiment, blocks, folder_of(path)), comment));
  if (arguments->has("quiet")) return 0;
  print_out("{}\ntable     {}\n", tuned_text(experiment, blocks), path);
  return 0;
}

}  // namespace

const Command& tune_dispatch_command() {
  static const Command command{
      .name = "tune-dispatch",
      .summary = "Make a dispatch table of the fastest configurations in a sweep",
      .usage = "SWEEP --out TABLE.yaml [options]",
      .examples =
          "  cclgym tune-dispatch experiments/quickstart.yaml -o table.yaml\n"
          "      runs the experiment (or continues it) and writes the table of its fastest\n"
          "      configurations by size\n"
          "  cclgym tune-dispatch results/quickstart -o table.yaml --tolerance 0.05\n"
          "      from existing results; ranges may lose 5 %, so there are fewer of them\n"
          "  cclgym simulate --fabric dgx1 --collective allreduce --size 1MiB \\\n"
          "      --algorithm dispatch:table.yaml\n"
          "      simulates the table's choice for a call\n",
      .run = tune};
  return command;
}

}  // namespace cclgym
