// cclgym tune-dispatch: derives the fastest dispatch table from a sweep.
#include "experiments/summary/tune_dispatch.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "core/version.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/train_dispatcher.hpp"
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

const OptionSpec kSvmTrials{.name = "trials",
                            .kind = OptionKind::Integer,
                            .description = "with --svm: number of noisy trials of a cell",
                            .min = 1,
                            .max = 10000,
                            .default_text = "10"};
const OptionSpec kSvmSigma{.name = "sigma",
                           .kind = OptionKind::Real,
                           .description =
                               "with --svm: spread of a trial, whose time is the simulated "
                               "one times exp(sigma Z), Z normal",
                           .min = 0,
                           .max = 1,
                           .default_text = "0.02"};
const OptionSpec kSplitSeed{.name = "seed",
                            .kind = OptionKind::Integer,
                            .description =
                                "with --svm: seed of the trials, and of the split into "
                                "training and test cells",
                            .min = 0,
                            .max = 1e15,
                            .default_text = "1"};

// The experiment of a folder with results, or of a file, whose cells are then simulated first. With
// --dry-run, they are only counted and their time is estimated.
Experiment sweep_of(const Arguments& arguments, TaskPlace* place, std::string& folder) {
  const std::string& source = arguments.text("SWEEP");
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    for (const char* option : {"results", "jobs", "cell-timeout", "peer-timeout"}) {
      if (!arguments.has(option)) continue;
      throw UserError(argument_location(option),
                      "is for a sweep that has not run yet; the "
                      "folder has its results; leave it out");
    }
    folder = source;
    Experiment experiment = load_run_experiment(folder);
    if (arguments.has("dry-run")) {
      print_dry_run(experiment, {.folder = folder, .jobs = 1}, wants_json(arguments),
                    arguments.text("out"));
    } else {
      share_tasks({}, {.place = place});  // nothing is left to simulate
    }
    return experiment;
  }
  Experiment experiment = load_experiment(source);
  folder = arguments.has("results") ? arguments.text("results") : default_run_folder(experiment);
  const std::string advice = fmt::format(
      "choose another folder with --results, or start over with cclgym run {} --out {} --fresh",
      source, folder);
  const RunOptions options{.folder = folder,
                           .place = place,
                           .jobs = jobs_of(arguments),
                           .cell_timeout_s = cell_timeout_of(arguments),
                           .peer_timeout_s = peer_timeout_of(arguments),
                           .advice = advice};
  if (arguments.has("dry-run")) {
    print_dry_run(experiment, options, wants_json(arguments), arguments.text("out"));
  } else {
    run_cells(experiment, options, arguments.has("quiet"));
  }
  return experiment;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

void refuse_other_kind(const Arguments& arguments, bool svm) {
  for (const char* option : {"trials", "sigma", "seed"}) {
    if (svm || !arguments.has(option)) continue;
    throw UserError(argument_location(option), "is for --svm; leave it out, or add --svm");
  }
  if (svm && wants_json(arguments)) {
    throw UserError(argument_location("json"),
                    "is for tables of size ranges; a dispatcher (--svm) has none: leave it out");
  }
  if (svm && arguments.has("tolerance")) {
    throw UserError(argument_location("tolerance"),
                    "is for tables of size ranges; a dispatcher (--svm) has none: leave it out");
  }
}

// Trains and writes a dispatcher.
void write_dispatcher(const Arguments& arguments, const Experiment& experiment,
                      const std::vector<ResultRow>& rows) {
  const DispatcherTraining training{
      .trials = static_cast<int>(arguments.integer(kSvmTrials)),
      .sigma = read_real(arguments.text_or_default(kSvmSigma), kSvmSigma,
                         argument_location(kSvmSigma.name)),
      .seed = static_cast<std::uint64_t>(arguments.integer(kSplitSeed))};
  const Dispatcher dispatcher =
      train_dispatcher(experiment, rows, training, {.file = arguments.text("SWEEP")});
  const std::string comment =
      fmt::format("Written by cclgym tune-dispatch --svm {} from experiment {} ({}).",
                  program_version(), experiment.name, experiment.hash());
  const std::string& path = arguments.text("out");
  write_text_file(path, to_yaml(dispatcher, comment));
  if (arguments.has("quiet")) return;
  print_out("{}\ndispatcher {}\n", dispatcher_text(dispatcher), path);
}

// The first range begins at 0 and the last has no end.
nlohmann::ordered_json tuned_json(const std::vector<TunedBlock>& blocks) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const TunedBlock& block : blocks) {
    for (const TunedRange& one : block.ranges) {
      const DispatchRange& range = one.range;
      const Config& config = range.choice.config;
      nlohmann::ordered_json line{{"fabric", block.fabric},
                                  {"collective", to_string(block.collective)},
                                  {"from_bytes", range.from_bytes},
                                  {"to_bytes", nullptr},
                                  {"algorithm", config.algorithm},
                                  {"protocol", to_string(config.protocol)},
                                  {"channels", config.channels},
                                  {"instances", config.instances},
                                  {"threads", config.threads},
                                  {"tile_bytes", config.tile_bytes},
                                  {"slots", config.slots},
                                  {"tested_sizes", one.tested},
                                  {"loss", one.loss},
                                  {"least_speedup", nullptr},
                                  {"most_speedup", nullptr}};
      if (range.to_bytes != DispatchRange::kNoEnd) line["to_bytes"] = range.to_bytes;
      if (one.least_speedup) line["least_speedup"] = *one.least_speedup;
      if (one.most_speedup) line["most_speedup"] = *one.most_speedup;
      json.push_back(std::move(line));
    }
  }
  return json;
}

int tune(const std::vector<std::string>& args, TaskPlace* place) {
  const auto arguments =
      ArgumentReader(tune_dispatch_command())
          .positional("SWEEP", "experiment file, which is run, or the folder of a finished run")
          .output("out,o", "TABLE", "dispatch table, or dispatcher, to write (.yaml)")
          .option(kTolerance, "X")
          .flag("svm",
                "write a dispatcher as in PCCL instead: a support vector machine that chooses one "
                "of the sweep's tuners by size and number of GPUs (docs/pccl.md)")
          .option(kSvmTrials, "N")
          .option(kSvmSigma, "X")
          .option(kSplitSeed, "N")
          .option("results", "DIR", "folder for the sweep's results [default: results/NAME]")
          .option(jobs_option(), "N")
          .option(cell_timeout_option(), "TIME")
          .option(peer_timeout_option(), "TIME")
          .flag("dry-run",
                "print the number of cells to simulate and an estimate of the time; nothing is "
                "written")
          .flag("quiet", "print only errors")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  static_cast<void>(arguments->required("out"));
  const double tolerance =
      read_real(arguments->text_or_default(kTolerance), kTolerance, argument_location("tolerance"));
  refuse_other_kind(*arguments, arguments->has("svm"));
  std::string folder;
  const Experiment experiment = sweep_of(*arguments, place, folder);
  refuse_file_of_run(arguments->text("out"), folder, argument_location("out"));
  if (arguments->has("dry-run")) return 0;
  const std::vector<ResultRow> rows = read_run_results(experiment, folder).rows;
  if (rows.size() < experiment.cells.size()) {
    throw UserError(fmt::format("{}: {} of {} cells have no result; finish the run first",
                                results_path(folder), experiment.cells.size() - rows.size(),
                                experiment.cells.size()));
  }
  if (arguments->has("svm")) {
    write_dispatcher(*arguments, experiment, rows);
    return 0;
  }
  const std::vector<TunedBlock> blocks = tune_dispatch(experiment, rows, tolerance);
  const std::string comment = fmt::format(
      "Written by cclgym tune-dispatch {} from experiment {} ({}).\n"
      "At every tested size at most {} % slower than the fastest of the sweep.\n",
      program_version(), experiment.name, experiment.hash(), 100 * tolerance);
  const std::string& path = arguments->text("out");
  write_text_file(path, to_yaml(dispatch_table(experiment, blocks, folder_of(path)), comment));
  if (wants_json(*arguments)) {
    print_json(tuned_json(blocks));
    return 0;
  }
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
          "  cclgym tune-dispatch results/pccl-frontier --svm -o frontier-svm.yaml\n"
          "      the dispatcher of PCCL for the sweep's machine, with its accuracy and regret\n"
          "  cclgym simulate --fabric dgx1 --collective allreduce --size 1MiB \\\n"
          "      --algorithm dispatch:table.yaml\n"
          "      simulates the table's choice for a call\n",
      .run_in = tune};
  return command;
}

}  // namespace cclgym
