#include "cli/validation/validate_nccl.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "agents/export/deployed_machine.hpp"
#include "calibration/backends/gpu_backends.hpp"
#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "calibration/validate/nccl_validation.hpp"
#include "cli/deployment/exported_policy.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/sweep_options.hpp"
#include "cli/support/gpu_options.hpp"
#include "cli/support/mpi_options.hpp"
#include "cli/validation/validation_output.hpp"
#include "core/files/text_file.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "experiments/measured/measured_file.hpp"
#include "experiments/run/run_folder.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kPolicyBegins = "CCLGYMPO";
const OptionSpec kPlacement{.name = "placement",
                            .kind = OptionKind::Choice,
                            .description = "placement of the result: out of place or in place",
                            .default_text = "out",
                            .choices = {"out", "in"}};
constexpr std::size_t kLargestRowsFile = std::size_t{1} << 30;

// A policy as NCCL's plugin reads it.
struct TunerSource {
  std::string name;                  ///< RUN
  std::string text;                  ///< contents of the policy file or of the CSV
  std::optional<PolicyFile> policy;  ///< nullopt: a CSV

  [[nodiscard]] const char* suffix() const { return policy ? ".policy" : ".csv"; }

  // Throws UserError if the policy is not for a job of this shape.
  [[nodiscard]] std::unique_ptr<const TunerChoices> choices(const NcclShape& shape) const {
    const auto ranks = static_cast<std::size_t>(shape.ranks);
    const auto nodes = static_cast<std::size_t>(shape.nodes);
    if (!policy) return std::make_unique<RowChoices>(text, name, ranks, nodes);
    std::vector<std::string> known;
    bool found = false;
    for (const DeployedMachine& machine : read_machines(*policy, name)) {
      found = found || (machine.ranks == ranks && machine.nodes == nodes);
      known.push_back(
          fmt::format("'{}' ({} ranks on {})", machine.label, machine.ranks, machine.nodes));
    }
    if (!found) {
      throw UserError(fmt::format(
          "{}: the worker has {} ranks on {} nodes, for which the policy has no machine; it has {}",
          name, ranks, nodes, fmt::join(known, ", ")));
    }
    return std::make_unique<PolicyChoices>(*policy, name, ranks, nodes);
  }
};

// Adds the policy's observations on its machines, as deploy does.
void add_machines(ExportedPolicy& exported, const Arguments& arguments, const std::string& name) {
  std::vector<DeployedMachine> machines;
  for (const auto& setup : chosen_setups(exported, machine_labels(arguments))) {
    DeployedMachine machine = deployed_choices(exported.file, *setup).machine;
    for (const DeployedMachine& other : machines) {
      if (other.ranks != machine.ranks || other.nodes != machine.nodes) continue;
      throw UserError(fmt::format(
          "{}: machines '{}' and '{}' have equal numbers of ranks and nodes, so a job cannot tell "
          "them apart; name one with --machine",
          name, other.label, machine.label));
    }
    machines.push_back(std::move(machine));
  }
  set_machines(exported.file, machines);
}

TunerSource read_source(const Arguments& arguments) {
  const std::string& name = arguments.text("RUN");
  const auto seed = arguments.has("agent") ? std::optional(arguments.text("agent")) : std::nullopt;
  if (!std::filesystem::is_directory(name)) {
    std::string text = read_text_file(name, kMostPolicyBytes);
    if (!text.starts_with(kPolicyBegins)) {
      for (const char* const option : {"machine", "agent"}) {
        if (!arguments.has(option)) continue;
        throw UserError(argument_location(option), "is not for a CSV, which is for all machines");
      }
      // Its lines must be those of a tuner; the plugin skips others, too.
      const RowChoices lines(text, name, 2, 1);
      for (const std::string& line : lines.skipped()) print_warning(line);
      return {.name = name, .text = std::move(text), .policy = std::nullopt};
    }
  }
  ExportedPolicy exported = read_policy_or_run(name, seed);
  // A deployed policy is measured as it is.
  if (arguments.has("machine") || read_machines(exported.file, name).empty()) {
    add_machines(exported, arguments, name);
  }
  TunerSource source{.name = name, .text = format_policy(exported.file), .policy = exported.file};
  // Refuses here what the plugin would refuse in the job.
  for (const DeployedMachine& machine : read_machines(*source.policy, name)) {
    (void)PolicyChoices(*source.policy, name, machine.ranks, machine.nodes);
  }
  return source;
}

// Writes the policy beside its rows. Rows of another policy must not be continued.
void keep_policy(const TunerSource& source, const Arguments& arguments,
                 const std::filesystem::path& path, const std::string& rows_path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool rows = fs::exists(rows_path, error) && fs::file_size(rows_path, error) > 0;
  const bool other =
      fs::exists(path, error) && read_text_file(path.string(), kLargestRowsFile) != source.text;
  if (other && !(rows && arguments.has("fresh"))) {
    throw UserError({path.string(), 0, 0},
                    rows ? "is the policy of the existing rows, and " + source.name +
                               " is another one; choose another --out or --part, or start over "
                               "with --fresh"
                         : "is not the policy to measure; choose another --out or --part");
  }
  write_text_file(path.string(), source.text);
}

std::string part_label(const Arguments& arguments) {
  if (!arguments.has("part")) return "nccl";
  const std::string& label = arguments.text("part");
  if (label.empty() || label.starts_with('.') ||
      label.find_first_of(",\"/\r\n") != std::string::npos) {
    throw UserError(argument_location("part"),
                    "found " + quoted(label) + "; expected a name for a file, without commas");
  }
  return label;
}

NcclValidation wanted_of(const Arguments& arguments, const OptionTexts& cells) {
  NcclValidation wanted{.system = system_option(arguments, "nccl"),
                        .config = label_option(arguments),
                        .table = nccl_cells(cells),
                        .within = validation_within(arguments)};
  if (!arguments.has("measured")) return wanted;
  for (const char* const name : {"algorithms", "protocols", "channels"}) {
    if (!arguments.has(name)) continue;
    throw UserError(argument_location(name),
                    "is for a validation without --measured, whose rows are the configurations");
  }
  wanted.measured_path = arguments.text("measured");
  wanted.measured = read_measured_file(wanted.measured_path);
  return wanted;
}

}  // namespace

void add_nccl_validation_options(ArgumentReader& reader) {
  reader.option("part", "LABEL", "name of the rows: LABEL.rows.csv [default: nccl]")
      .option("machine", "LABEL",
              "machine of the policy, or several: A,B [default: all; the job's ranks and nodes "
              "select one]");
  add_launch_options(reader);
  add_label_option(reader);
  add_record_options(reader, nccl_cell_options(), {"placement"});
  reader.option(kPlacement, "V");
  add_record_options(reader, nccl_worker_options(), {"policy"});
}

std::vector<Validation> validate_nccl(const Arguments& arguments,
                                      const std::filesystem::path& folder) {
  const std::string label = part_label(arguments);
  OptionTexts cells = record_texts(arguments, nccl_cell_options());
  cells["placement"] = kPlacement.choices[read_choice(arguments.text_or_default(kPlacement),
                                                      kPlacement, argument_location("placement"))];
  const NcclValidation wanted = wanted_of(arguments, cells);
  const int rounds = validation_rounds(arguments);
  const TunerSource source = read_source(arguments);
  OptionTexts worker = record_texts(arguments, nccl_worker_options());
  // A communicator that is made again for each round would make its connections again.
  worker.try_emplace("communicators",
                     std::to_string(std::clamp<std::size_t>(most_nccl_configs(wanted), 24, 256)));
  const auto launch = arguments.has("launch") ? mpi_launch(arguments) : std::vector<std::string>{};
  // Throws if this build has no CUDA, before anything is written.
  (void)nccl_backend(cells, worker, wanted.system, launch);
  const bool dry = arguments.has("dry-run");
  if (!dry) make_folder(folder.string());
  const std::string rows = validation_rows_path(folder, label);
  const std::filesystem::path kept =
      std::filesystem::absolute(folder / (label + source.suffix())).lexically_normal();
  worker["policy"] = kept.string();
  MeasurementBackend backend = nccl_backend(cells, worker, wanted.system, launch);
  backend.plan = [&](const TextMap& environment) {
    SweepPlan plan =
        nccl_validation_plan(wanted, environment, *source.choices(nccl_shape(environment)), rounds);
    // The worker reads it with the first call that the policy chooses.
    if (!dry) keep_policy(source, arguments, kept, rows);
    return plan;
  };
  if (dry) {
    print_planned_sweep(backend, arguments, rows, wants_json(arguments));
    return {};
  }
  (void)run_sweep(backend, arguments, rows);
  std::vector<Validation> parts;
  for (const std::string& each : validated_labels(folder)) {
    parts.push_back(read_validation(validation_rows_path(folder, each), each));
  }
  return parts;
}

}  // namespace cclgym
