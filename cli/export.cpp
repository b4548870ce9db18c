// cclgym export: writes a trained agent as a policy file or TorchScript, and as a CSV for NCCL's
// stock tuner.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "agents/export/torchscript.hpp"
#include "agents/export/tuner_csv.hpp"
#include "cli/deployment/exported_policy.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "cli/support/torch_program.hpp"
#include "core/files/text_file.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kTorchscript = 1;

OptionSpec format_option() {
  return {.name = "format",
          .kind = OptionKind::Choice,
          .description = "format of the file of --to",
          .default_text = "policy",
          .choices = {"policy", "torchscript"}};
}

// True for the name of a file that a training run keeps in its folder.
bool is_of_training(const std::string& name) {
  constexpr std::array<std::string_view, 6> kNames{"train.yaml",  "train.source",   "metrics.csv",
                                                   "report.html", "evaluation.csv", "choices.txt"};
  return name.starts_with("seed-") || std::ranges::find(kNames, name) != kNames.end();
}

// Refuses an output path that is a file of the run itself.
void check_targets(const Arguments& arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path run = fs::weakly_canonical(fs::absolute(arguments.text("RUN")), error);
  const auto target = [&](const char* name) {
    return fs::weakly_canonical(fs::absolute(arguments.text(name)), error);
  };
  for (const char* name : {"to", "csv"}) {
    if (!arguments.has(name)) continue;
    const fs::path path = target(name);
    const auto [end, rest] = std::ranges::mismatch(run, path);
    // Files with other names in the folder may be written.
    if (end == run.end() && rest != path.end() && is_of_training(rest->string())) {
      throw UserError(argument_location(name),
                      quoted(arguments.text(name), 200) + " is a file of the training itself");
    }
  }
}

int export_agent(const std::vector<std::string>& args) {
  const auto arguments = ArgumentReader(export_command())
                             .positional("RUN", "folder of a training run")
                             .output("to", "FILE", "file to write (.policy, .pt)")
                             .option(format_option(), "FORMAT")
                             .output("csv", "FILE", "CSV file to write for NCCL's stock tuner")
                             .option(agent_seed_option(), "N")
                             .flag("quiet", "print only errors")
                             .read(args);
  if (!arguments) return 0;
  if (!arguments->has("to") && !arguments->has("csv")) {
    throw UserError("--to or --csv is missing; see cclgym export --help");
  }
  const bool torchscript =
      arguments->has("format") && read_choice(arguments->text("format"), format_option(),
                                              argument_location("format")) == kTorchscript;
  if (torchscript && !arguments->has("to")) {
    throw UserError("--format torchscript needs --to; see cclgym export --help");
  }
  if (torchscript) need_torch("export", args, "write TorchScript");
  const AgentRun run = load_agent_run(arguments->text("RUN"));
  check_targets(*arguments);
  const ExportedPolicy policy = export_policy(
      run, arguments->has("seed") ? std::optional(arguments->text("seed")) : std::nullopt);
  const auto& machines = policy.machines;
  const PolicyFile& file = policy.file;
  const bool quiet = arguments->has("quiet");
  if (torchscript) {
    write_torchscript(policy.weights, policy.rules, arguments->text("to"));
    if (!quiet) {
      print_out("module    {} (TorchScript; machines: {})\n", arguments->text("to"),
                machines.size());
    }
  } else if (arguments->has("to")) {
    const std::string bytes = format_policy(file);
    write_text_file(arguments->text("to"), bytes);
    if (!quiet) {
      print_out("policy    {} ({} bytes; machines: {})\n", arguments->text("to"), bytes.size(),
                machines.size());
    }
  }
  if (!arguments->has("csv")) return 0;
  std::string csv;
  int lines = 0;
  int left_out = 0;
  for (const auto& machine : machines) {
    const TunerCsv one = tuner_csv(file, *machine);
    csv += one.text;
    lines += one.lines;
    left_out += one.left_out;
  }
  write_text_file(arguments->text("csv"), csv);
  if (!quiet) {
    print_out("csv       {} ({} lines; {} ranges left to NCCL, as its tuner cannot express them)\n",
              arguments->text("csv"), lines, left_out);
  }
  return 0;
}

}  // namespace

const Command& export_command() {
  static const Command command{
      .name = "export",
      .summary = "Write a trained agent as a policy file, as TorchScript or for NCCL's stock tuner",
      .usage = "RUN --to FILE [--format policy|torchscript] [--csv FILE] [--seed N]",
      .examples =
          "  cclgym export results/train-ndv4 --to ndv4.policy\n"
          "      weights, normalisation, names, mask rules and provenance in one file, for the\n"
          "      runtime of docs/deploy.md\n"
          "  cclgym export results/train-ndv4 --format torchscript --to ndv4.pt\n"
          "      a module for torch.jit.load, with all that is in the policy file\n"
          "  cclgym export results/train-ndv4 --csv nccl_tuner.conf\n"
          "      size ranges for NCCL's example tuner, as far as its format allows\n",
      .run = export_agent};
  return command;
}

}  // namespace cclgym
