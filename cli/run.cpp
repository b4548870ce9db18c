// cclgym run: runs a batch experiment. Makes results, table, report and timelines from its YAML
// file.
#include <nlohmann/json.hpp>

#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/load_experiment.hpp"

namespace cclgym {

namespace {

OptionSpec engine_option() {
  OptionSpec spec = experiment_option("engine");
  spec.default_text = "the experiment's";
  return spec;
}

int run(const std::vector<std::string>& args, TaskPlace* place) {
  ArgumentReader reader(run_command());
  reader.positional("FILE", "experiment file (docs/experiments.md)")
      .option("out,o", "DIR", "folder for the results [default: results/NAME]")
      .option(engine_option(), "E")
      .option(jobs_option(), "N")
      .option("shard", "I/N",
              "simulate only shard I of N, every Nth cell, for cclgym merge [default: all cells]")
      .option(cell_timeout_option(), "TIME")
      .option(peer_timeout_option(), "TIME")
      .flag("fresh", "delete the results in the folder and start over")
      .flag("dry-run", "print the number of cells and an estimate of the time; nothing is written")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const bool quiet = arguments->has("quiet");
  Shard shard;
  if (arguments->has("shard")) {
    shard = read_shard(arguments->text("shard"), argument_location("shard"));
  }
  // On ranks, run_experiment checks the folder once all have begun.
  if (arguments->has("out") && place == nullptr) check_run_folder(arguments->text("out"));
  LoadProgress progress;
  if (!quiet) progress = [](const std::string& sentence) { print_error("{}\n", sentence); };
  Experiment experiment = load_experiment(arguments->text("FILE"), progress);
  if (arguments->has("engine")) {
    const OptionSpec engine = engine_option();
    experiment.engine =
        engine.choices[read_choice(arguments->text("engine"), engine, argument_location("engine"))];
  }
  const RunOptions options{
      .folder = arguments->has("out") ? arguments->text("out") : default_run_folder(experiment),
      .place = place,
      .jobs = jobs_of(*arguments),
      .fresh = arguments->has("fresh"),
      .shard = shard,
      .cell_timeout_s = cell_timeout_of(*arguments),
      .peer_timeout_s = peer_timeout_of(*arguments)};
  const ReportInputs inputs = read_report_inputs(experiment);
  const bool json = wants_json(*arguments);
  if (arguments->has("dry-run")) {
    print_dry_run(experiment, options, json);
    return 0;
  }
  run_cells(experiment, options, quiet);
  if (options.shard.whole()) {
    finish_run(experiment, inputs, options.folder, quiet || json);
    if (json) print_json(results_json(options.folder));
  } else if (!quiet && !json) {
    print_out("results   {}\nnext      cclgym merge {}, when all {} shards are done\n",
              results_path(options.folder, options.shard), options.folder, options.shard.count);
  }
  return 0;
}

}  // namespace

const Command& run_command() {
  static const Command command{
      .name = "run",
      .summary = "Run an experiment: simulate its cells and write results, report and timelines",
      .usage = "FILE [--out DIR] [--jobs N] [--shard I/N] [--fresh] [--quiet] [options]",
      .examples =
          "  cclgym run experiments/quickstart.yaml\n"
          "      results, report and timelines in results/quickstart; if it was stopped,\n"
          "      the same command continues it\n"
          "  cclgym run experiments/quickstart.yaml --engine flow --jobs 4 --out /tmp/q\n"
          "      with engine flow, in four processes, into another folder\n"
          "  cclgym run experiments/quickstart.yaml --fresh --quiet\n"
          "      from the start, without output\n"
          "  cclgym run sweep.yaml --dry-run\n"
          "      how many cells it has, and how long they will take\n"
          "  cclgym run sweep.yaml --shard 3/16 --out /data/sweep\n"
          "      the third of 16 parts, such as the tasks of a Slurm job array; cclgym merge\n"
          "      /data/sweep joins them",
      .run_in = run};
  return command;
}

}  // namespace cclgym
