// cclgym validate: measures a trained agent's choices on the hardware.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/core.h>
#include <iostream>
#include <limits>
#include <map>
#include <optional>

#include "agents/evaluation/evaluation.hpp"
#include "agents/training/learned_policy.hpp"
#include "calibration/measure/measured_file.hpp"
#include "calibration/validate/validation.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/mpi_options.hpp"
#include "cli/support/print.hpp"
#include "cli/support/sweep_options.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/units.hpp"
#include "experiments/run/run_folder.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

const OptionSpec kRounds{
    .name = "rounds",
    .kind = OptionKind::Integer,
    .description = "number of interleaved measurements per call and configuration",
    .min = 2,
    .max = 10'000,
    .default_text = "10"};
const OptionSpec kAgentSeed{.name = "agent",
                            .kind = OptionKind::Integer,
                            .description = "seed of the agent",
                            .min = 0,
                            .max = 1e15,
                            .default_text = "the first that was trained"};
const OptionSpec kWithin{
    .name = "within",
    .kind = OptionKind::Real,
    .description = "max time of a configuration relative to the best of --measured",
    .min = 1,
    .max = 1e6,
    .default_text = "1.3"};

using CallKey = std::pair<CollectiveKind, std::uint64_t>;

// The agent's choices in a part of its training file, which must have OpenMPI's actions.
std::map<CallKey, MpiConfig> choices_of(const AgentRun& run, const Arguments& arguments,
                                        std::string& label, FabricFeatures& machine) {
  std::vector<std::string> labels;
  const EvaluationPart* part = nullptr;
  for (const auto& each : run.config.evaluation) {
    if (!each.environment->setup()) continue;
    labels.push_back(each.label);
    if (part == nullptr && (!arguments.has("part") || arguments.text("part") == each.label)) {
      part = &each;
    }
  }
  if (part == nullptr) {
    throw UserError(
        argument_location("part"),
        unknown_name_message("part", arguments.has("part") ? arguments.text("part") : "", labels));
  }
  label = part->label;
  machine = part->environment->setup()->fabric;
  std::uint64_t seed = run.seeds.front();
  if (arguments.has("agent")) {
    seed = static_cast<std::uint64_t>(
        read_integer(arguments.text("agent"), kAgentSeed, argument_location("agent")));
    if (std::ranges::find(run.seeds, seed) == run.seeds.end()) {
      throw UserError(argument_location("agent"),
                      fmt::format("{} has no agent of seed {}", run.folder, seed));
    }
  }
  const std::string name = run.config.agent_name();
  const EvaluatedPolicy agent{.name = name, .make = [&](std::uint64_t) -> std::unique_ptr<Policy> {
                                return std::make_unique<LearnedPolicy>(
                                    load_agent(run, seed).weights, name);
                              }};
  const auto runs =
      evaluate_policies(part->environment->setup(), std::span(&agent, 1), {.seeds = {seed}});
  std::map<CallKey, MpiConfig> choices;
  for (const EvaluatedCell& cell : runs.front().cells) {
    const auto kind = measured_collective(cell.collective);
    if (!kind) continue;
    if (cell.choice.starts_with(kMpiDefault)) {
      choices[{*kind, cell.bytes}] = {std::string(kMpiDefault), 0, 0};
      continue;
    }
    const OpenMpiAlgorithm* algorithm =
        find_openmpi_algorithm(*kind, cell.config.algorithm, cell.config.tile_bytes);
    if (algorithm == nullptr) {
      throw UserError(fmt::format(
          "the agent chose '{}' for {} of {}, which OpenMPI does not have; the agent must be "
          "trained with 'actions: openmpi'",
          cell.choice, cell.collective, format_bytes(cell.bytes)));
    }
    choices[{*kind, cell.bytes}] = {std::string(algorithm->algorithm), algorithm->number,
                                    cell.config.tile_bytes};
  }
  return choices;
}

// A sweep's results for a call: its fastest configuration, and those near it.
struct SweptWays {
  std::optional<MpiConfig> fastest{};  ///< nullopt: the sweep has no row of the call
  std::vector<MpiConfig> near;         ///< at most `within` times as slow as the fastest algorithm
};

// If the sweep has no row of the call, all configurations are near.
SweptWays swept_ways(const std::vector<MpiConfig>& all, const CallKey& call,
                     const std::vector<Measurement>& rows, double within) {
  std::map<std::pair<std::string, std::uint64_t>, double> times_s;
  double named_best_s = std::numeric_limits<double>::infinity();
  for (const Measurement& row : rows) {
    if (row.collective != call.first || row.bytes != call.second) continue;
    if (row.named) {
      times_s[{row.named->algorithm, row.named->tile_bytes}] = row.time_s;
      named_best_s = std::min(named_best_s, row.time_s);
    } else if (row.tuner == kMpiDefault) {
      times_s[{row.tuner, 0}] = row.time_s;
    }
  }
  if (!std::isfinite(named_best_s)) return {.near = all};
  SweptWays ways;
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const MpiConfig& config : all) {
    const auto found = times_s.find({config.algorithm, config.segment_bytes});
    if (found == times_s.end()) continue;
    if (found->second <= within * named_best_s) ways.near.push_back(config);
    if (found->second >= fastest_s) continue;
    fastest_s = found->second;
    ways.fastest = config;
  }
  return ways;
}

std::vector<ValidationCall> calls_of(const std::map<CallKey, MpiConfig>& choices,
                                     const MpiSweep& wanted, const Arguments& arguments) {
  std::vector<Measurement> rows;
  if (arguments.has("measured")) {
    rows = read_measured_file(arguments.text("measured"));
    if (!wanted.config.empty()) {
      std::erase_if(rows, [&](const Measurement& row) { return row.config != wanted.config; });
    }
  }
  const double within =
      read_real(arguments.has("within") ? arguments.text("within") : kWithin.default_text, kWithin,
                argument_location("within"));
  std::vector<ValidationCall> calls;
  for (const auto& [key, chosen] : choices) {
    const auto& sizes = wanted.sizes;
    if (arguments.has("sizes") && std::ranges::find(sizes, key.second) == sizes.end()) continue;
    const auto& kinds = wanted.collectives;
    if (!kinds.empty() && std::ranges::find(kinds, key.first) == kinds.end()) continue;
    SweptWays swept = swept_ways(mpi_configs(wanted, key.first, key.second), key, rows, within);
    ValidationCall call{.collective = key.first,
                        .bytes = key.second,
                        .chosen = chosen,
                        .configs = std::move(swept.near),
                        .swept = swept.fastest};
    std::vector<MpiConfig> musts{MpiConfig{std::string(kMpiDefault), 0, 0}, chosen};
    if (call.swept) musts.push_back(*call.swept);
    for (const MpiConfig& must : musts) {
      if (std::ranges::find(call.configs, must) == call.configs.end()) call.configs.push_back(must);
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// Throws UserError unless the measured machine is that of the training run.
void require_machine(const FabricFeatures& machine, const TextMap& environment,
                     const std::string& label) {
  const auto said = [&](const char* key) {
    const auto found = environment.find(key);
    return found == environment.end() ? std::string("no") : found->second;
  };
  if (said("ranks") == std::to_string(machine.ranks) &&
      said("nodes") == std::to_string(machine.servers)) {
    return;
  }
  throw UserError(argument_location("launch"),
                  fmt::format("found {} ranks on {} hosts; part '{}' was trained for {} on {}",
                              said("ranks"), said("nodes"), label, machine.ranks, machine.servers));
}

OwnFiles validation_files() {
  return {.writer = "cclgym validate",
          .mark = "validation.csv",
          .mark_begins = "part,collective,",
          .others = {"validation.html"}};
}

// Prints the parts and writes them to the folder.
void publish(const std::vector<Validation>& parts, const std::filesystem::path& folder) {
  const std::string text = validation_text(parts);
  write_text_file((folder / "validation.csv").string(), validation_csv(parts));
  write_text_file((folder / "validation.html").string(), validation_html(parts));
  print_out("{}\npage      {}\n", text, (folder / "validation.html").string());
}

// Runs --show: prints rows of an earlier validation. `measuring` names the options that only a
// measurement takes.
int show(const Arguments& arguments, const std::vector<std::string>& measuring) {
  for (const std::string& name : measuring) {
    if (!arguments.has(name)) continue;
    throw UserError(
        argument_location("show"),
        fmt::format("measures nothing, but {} is for measuring; leave one of them out", name));
  }
  const std::string shown = arguments.text("show");
  const std::string suffix = ".rows.csv";
  if (!std::filesystem::is_directory(shown)) {
    throw UserError(argument_location("show"), fmt::format("'{}' is not a folder", shown));
  }
  std::vector<std::string> labels;
  for (const auto& entry : std::filesystem::directory_iterator(shown)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) labels.push_back(name.substr(0, name.size() - suffix.size()));
  }
  if (labels.empty()) {
    throw UserError(argument_location("show"),
                    fmt::format("'{}' has no file LABEL{}", shown, suffix));
  }
  std::ranges::sort(labels);
  std::vector<Validation> parts;
  for (const std::string& label : labels) {
    const std::string path = (std::filesystem::path(shown) / (label + suffix)).string();
    parts.push_back(read_validation(path, label));
  }
  if (!arguments.has("out")) {
    print_out("{}", validation_text(parts));
    return 0;
  }
  check_output_folder(arguments);
  refuse_foreign_files(arguments.text("out"), validation_files());
  make_folder(arguments.text("out"));
  publish(parts, arguments.text("out"));
  return 0;
}

int validate(const std::vector<std::string>& args) {
  ArgumentReader reader(validate_command());
  reader
      .positional("RUN", "folder of a training run with actions: openmpi; not with --show",
                  /*required=*/false)
      .option("show", "DIR",
              "folder of an earlier validation, whose tables are printed from its files "
              "LABEL.rows.csv (and written with --out); nothing is measured")
      .option(
          "part", "LABEL",
          "label of the part of the evaluation that describes the hardware [default: the first]")
      .option(kAgentSeed, "N")
      .option("out,o", "DIR",
              "folder for LABEL.rows.csv, validation.csv and validation.html; parts that are there "
              "already are shown, too")
      .option(kRounds, "N")
      .option("measured", "FILE",
              "sweep of `calibrate` on the same machine: only configurations near its best are "
              "measured, and its best is shown beside the agent's choice")
      .option(kWithin, "X");
  add_mpi_options(reader);
  add_sweep_options(reader);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (arguments->has("show"))
    return show(*arguments, reader.names_besides({"show", "out", "help"}));
  if (!arguments->has("RUN")) {
    throw UserError("missing RUN; expected: cclgym validate " + validate_command().usage);
  }
  if (!arguments->has("out")) {
    throw UserError(argument_location("out"), "is missing; expected the folder to write");
  }
  check_output_folder(*arguments);
  refuse_foreign_files(arguments->text("out"), validation_files());
  const AgentRun run = load_agent_run(arguments->text("RUN"));
  std::string label;
  FabricFeatures machine;
  const auto choices = choices_of(run, *arguments, label, machine);
  MpiSweep wanted = mpi_sweep(*arguments);
  const std::vector<ValidationCall> calls = calls_of(choices, wanted, *arguments);
  const int rounds = static_cast<int>(arguments->integer(kRounds));
  const std::filesystem::path folder(arguments->text("out"));
  make_folder(folder.string());
  MeasurementBackend backend = mpi_backend(wanted, mpi_launch(*arguments));
  backend.plan = [&](const TextMap& environment) {
    require_machine(machine, environment, label);
    return validation_plan(wanted, environment, calls, rounds);
  };
  (void)run_sweep(backend, *arguments, (folder / (label + ".rows.csv")).string());

  std::vector<Validation> parts;
  for (const auto& each : run.config.evaluation) {
    const std::string path = (folder / (each.label + ".rows.csv")).string();
    if (std::filesystem::exists(path)) parts.push_back(read_validation(path, each.label));
  }
  publish(parts, folder);
  return 0;
}

}  // namespace

const Command& validate_command() {
  static const Command command{
      .name = "validate",
      .summary = "Measure a trained agent's choices on real hardware",
      .usage = "RUN --out DIR [options] | --show DIR [--out DIR]",
      .examples =
          "  cclgym validate results/train-netlab --part idle --launch \"scripts/netlab mpirun\" "
          "\\\n"
          "      -o results/netlab\n"
          "      measures the agent's choice, OpenMPI's and all others; tables here, plots in\n"
          "      results/netlab/validation.html\n"
          "  cclgym validate … --measured netlab.csv --within 1.2\n"
          "      measures only others that are within 20 % of the best in a sweep\n"
          "  cclgym validate --show calibration/results/netlab/validation\n"
          "      the tables of an earlier measurement\n"
          "  (the same command continues a validation that was stopped or killed)",
      .run = validate};
  return command;
}

}  // namespace cclgym
