// cclgym validate: measures the choices of a policy on the hardware.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/runs/sweep_options.hpp"
#include "cli/support/command.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/print.hpp"
#include "cli/validation/validate_mpi.hpp"
#include "cli/validation/validate_nccl.hpp"
#include "cli/validation/validation_output.hpp"
#include "experiments/run/run_folder.hpp"

namespace cclgym {

namespace {

const OptionSpec kBackend{.name = "backend",
                          .kind = OptionKind::Choice,
                          .description =
                              "library to measure: mpi (OpenMPI) or nccl; `validate --backend "
                              "nccl --help` lists the options of nccl",
                          .default_text = "mpi",
                          .choices = {"mpi", "nccl"}};

// True for backend nccl. It is looked up before the other options are read, because each backend
// has options of its own.
bool is_nccl(const std::vector<std::string>& args) {
  const std::string prefix = "--backend";
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string text;
    if (args[i].starts_with(prefix + "=")) {
      text = args[i].substr(prefix.size() + 1);
    } else if (args[i] == prefix && i + 1 < args.size()) {
      text = args[i + 1];
    } else {
      continue;
    }
    return kBackend.choices[read_choice(text, kBackend, argument_location("backend"))] == "nccl";
  }
  return false;
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
  if (!std::filesystem::is_directory(shown)) {
    throw UserError(argument_location("show"), fmt::format("'{}' is not a folder", shown));
  }
  const std::vector<std::string> labels = validated_labels(shown);
  if (labels.empty()) {
    throw UserError(argument_location("show"),
                    fmt::format("'{}' has no file LABEL.rows.csv", shown));
  }
  std::vector<Validation> parts;
  for (const std::string& label : labels) {
    parts.push_back(read_validation(validation_rows_path(shown, label), label));
  }
  if (!arguments.has("out")) {
    print_validation(parts, wants_json(arguments));
    return 0;
  }
  check_output_folder(arguments);
  refuse_foreign_files(arguments.text("out"), validation_files());
  make_folder(arguments.text("out"));
  publish_validation(parts, arguments.text("out"), wants_json(arguments));
  return 0;
}

int validate(const std::vector<std::string>& args) {
  const bool nccl = is_nccl(args);
  ArgumentReader reader(validate_command());
  reader
      .positional("RUN",
                  "folder of a training run (mpi: with actions openmpi); nccl: also a policy file, "
                  "or a CSV of a tuner; not with --show",
                  /*required=*/false)
      .option(kBackend, "NAME")
      .option("show", "DIR",
              "folder of an earlier validation, whose tables are printed from its files "
              "LABEL.rows.csv (and written with --out); nothing is measured");
  add_validation_options(reader);
  if (nccl) {
    add_nccl_validation_options(reader);
  } else {
    add_mpi_validation_options(reader);
  }
  add_sweep_options(reader);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (arguments->has("show"))
    return show(*arguments, reader.names_besides({"show", "out", "json", "help"}));
  if (!arguments->has("RUN")) {
    throw UserError("missing RUN; expected: cclgym validate " + validate_command().usage);
  }
  if (!arguments->has("out")) {
    throw UserError(argument_location("out"), "is missing; expected the folder to write");
  }
  check_output_folder(*arguments);
  refuse_foreign_files(arguments->text("out"), validation_files());
  const std::filesystem::path folder(arguments->text("out"));
  const std::vector<Validation> parts =
      nccl ? validate_nccl(*arguments, folder) : validate_mpi(*arguments, folder);
  if (!arguments->has("dry-run")) publish_validation(parts, folder, wants_json(*arguments));
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
          "  cclgym validate ndv4.policy --backend nccl --measured nccl.csv -o results/ndv4\n"
          "      measures a policy on NCCL, through the tuner plugin, with NCCL's choice and the "
          "best "
          "of a\n      sweep\n"
          "  cclgym validate --show calibration/results/netlab/validation\n"
          "      the tables of an earlier measurement\n"
          "  (the same command continues a validation that was stopped or killed)",
      .run = validate,
      .modes = {{"--backend", "nccl"}}};
  return command;
}

}  // namespace cclgym
