#include "cli/validation/validate_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "agents/evaluation/evaluation.hpp"
#include "agents/training/learned_policy.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/sweep_options.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/mpi_options.hpp"
#include "cli/validation/validation_output.hpp"
#include "core/units.hpp"
#include "experiments/measured/measured_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

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
    seed = static_cast<std::uint64_t>(read_integer(
        arguments.text("agent"), validated_agent_option(), argument_location("agent")));
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
  const double within = validation_within(arguments);
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

}  // namespace

void add_mpi_validation_options(ArgumentReader& reader) {
  reader.option(
      "part", "LABEL",
      "label of the part of the evaluation that describes the hardware [default: the first]");
  add_mpi_options(reader);
}

std::vector<Validation> validate_mpi(const Arguments& arguments,
                                     const std::filesystem::path& folder) {
  const AgentRun run = load_agent_run(arguments.text("RUN"));
  std::string label;
  FabricFeatures machine;
  const auto choices = choices_of(run, arguments, label, machine);
  MpiSweep wanted = mpi_sweep(arguments);
  const std::vector<ValidationCall> calls = calls_of(choices, wanted, arguments);
  const int rounds = validation_rounds(arguments);
  const bool dry = arguments.has("dry-run");
  if (!dry) make_folder(folder.string());
  MeasurementBackend backend = mpi_backend(wanted, mpi_launch(arguments));
  backend.plan = [&](const TextMap& environment) {
    require_machine(machine, environment, label);
    return validation_plan(wanted, environment, calls, rounds);
  };
  const std::string rows = validation_rows_path(folder, label);
  if (dry) {
    print_planned_sweep(backend, arguments, rows, wants_json(arguments));
    return {};
  }
  (void)run_sweep(backend, arguments, rows);

  std::vector<Validation> parts;
  for (const auto& each : run.config.evaluation) {
    const std::string path = validation_rows_path(folder, each.label);
    if (std::filesystem::exists(path)) parts.push_back(read_validation(path, each.label));
  }
  return parts;
}

}  // namespace cclgym
