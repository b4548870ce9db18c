// cclgym run: runs a batch experiment. Makes results, table, report and timelines from its YAML
// file.
#include <iostream>

#include "cli/support/command.hpp"
#include "cli/support/run_cells.hpp"
#include "core/files/text_file.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/load_experiment.hpp"

namespace cclgym {

namespace {

OptionSpec engine_option() {
  OptionSpec spec = experiment_option("engine");
  spec.default_text = "the experiment's";
  return spec;
}

int run(const std::vector<std::string>& args) {
  ArgumentReader reader(run_command());
  reader.positional("FILE", "experiment file (docs/experiments.md)")
      .option("out", "DIR", "folder for the results [default: results/NAME]")
      .option(engine_option(), "E")
      .option(jobs_option(), "N")
      .flag("fresh", "delete the results in the folder and start over")
      .flag("quiet", "print only errors");
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  Experiment experiment = load_experiment(arguments->text("FILE"));
  if (arguments->has("engine")) {
    const OptionSpec engine = engine_option();
    experiment.engine =
        engine.choices[read_choice(arguments->text("engine"), engine, argument_location("engine"))];
  }
  const RunOptions options{
      .folder = arguments->has("out") ? arguments->text("out") : default_run_folder(experiment),
      .jobs = jobs_of(*arguments),
      .fresh = arguments->has("fresh")};
  // Reads these files first, so that an error in them is found before the work is done.
  const std::vector<MeasuredRow> measured = read_measured_files(experiment);
  const std::vector<PublishedRow> published = read_published_files(experiment);
  const bool quiet = arguments->has("quiet");
  run_cells(experiment, options, quiet);

  const std::vector<ResultRow> rows = read_results(results_path(options.folder)).rows;
  const std::vector<std::string> timelines = write_timelines(experiment, options.folder);
  const std::string report = write_report(experiment, rows, options.folder);
  const std::vector<PublishedBlock> compared = compare_published(experiment, rows, published);
  if (!published.empty()) write_text_file(published_path(options.folder), published_csv(compared));
  if (quiet) return 0;
  print_table(std::cout, experiment, rows, measured);
  std::cout << published_text(compared, published.size());
  std::cout << "\nresults   " << results_path(options.folder) << "\nreport    " << report << '\n';
  if (!published.empty()) std::cout << "published " << published_path(options.folder) << '\n';
  for (const std::string& path : timelines) std::cout << "timeline  " << path << '\n';
  std::cout.flush();
  return 0;
}

}  // namespace

const Command& run_command() {
  static const Command command{
      .name = "run",
      .summary = "Run an experiment: simulate its cells and write results, report and timelines",
      .usage = "FILE [--out DIR] [--engine E] [--jobs N] [--fresh] [--quiet]",
      .examples =
          "  cclgym run experiments/quickstart.yaml\n"
          "      results, report and timelines in results/quickstart; if it was stopped,\n"
          "      the same command continues it\n"
          "  cclgym run experiments/quickstart.yaml --engine flow --jobs 4 --out /tmp/q\n"
          "      with engine flow, in four processes, into another folder\n"
          "  cclgym run experiments/quickstart.yaml --fresh --quiet\n"
          "      from the start, without output",
      .run = run};
  return command;
}

}  // namespace cclgym
