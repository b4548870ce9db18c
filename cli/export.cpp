// cclgym export: a trained agent as a policy file or TorchScript, and as a CSV for NCCL's stock
// tuner.
#include <algorithm>
#include <fmt/core.h>

#include "agents/policy_export.hpp"
#include "agents/torchscript.hpp"
#include "agents/tuner_csv.hpp"
#include "cli/agent_run.hpp"
#include "cli/command.hpp"
#include "cli/torch_program.hpp"
#include "core/text_file.hpp"
#include "deploy/policy_file.hpp"
#include "experiments/version.hpp"

namespace cclgym {

namespace {

OptionSpec seed_option() {
  return {.name = "seed",
          .kind = OptionKind::Integer,
          .description = "whose agent",
          .min = 0,
          .max = 9e15,
          .default_text = "the first that was trained"};
}

constexpr std::size_t kTorchscript = 1;

OptionSpec format_option() {
  return {.name = "format",
          .kind = OptionKind::Choice,
          .description = "of --to",
          .default_text = "policy",
          .choices = {"policy", "torchscript"}};
}

// The machines that were trained and evaluated on, each once.
std::vector<std::shared_ptr<const TuningSetup>> machines_of(const TrainConfig& config) {
  std::vector<std::shared_ptr<const TuningSetup>> machines;
  const auto add = [&](const std::shared_ptr<const TuningSetup>& setup) {
    const bool known = !setup || std::ranges::any_of(machines, [&](const auto& machine) {
      return machine->fabric_label == setup->fabric_label;
    });
    if (!known) machines.push_back(setup);
  };
  for (const auto& part : config.parts) add(part.environment->setup());
  for (const auto& part : config.evaluation) add(part.environment->setup());
  return machines;
}

int export_agent(const std::vector<std::string>& args) {
  const auto arguments = ArgumentReader(export_command())
                             .positional("RUN", "folder of a training")
                             .option("to", "FILE", "the file to write (.policy, .pt)")
                             .option(format_option(), "FORMAT")
                             .option("csv", "FILE", "the CSV of NCCL's stock tuner to write")
                             .option(seed_option(), "N")
                             .flag("quiet", "print nothing but errors")
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
  std::uint64_t seed = run.seeds.front();
  if (arguments->has("seed")) {
    seed = static_cast<std::uint64_t>(
        read_integer(arguments->text("seed"), seed_option(), argument_location("seed")));
  }
  const Checkpoint checkpoint = load_agent(run, seed);
  PolicyWeights weights = checkpoint.weights;
  weights.provenance += fmt::format(
      "{}exported by cclgym {} from training {} ({}), seed {}, iteration {}\n",
      weights.provenance.empty() || weights.provenance.ends_with('\n') ? "" : "\n",
      program_version(), run.config.name, checkpoint.config_hash, seed, checkpoint.iteration);
  const auto machines = machines_of(run.config);
  std::vector<PolicyRules> rules;
  for (const auto& machine : machines) {
    const auto more = policy_rules(*machine->actions, machine->fabric_label);
    rules.insert(rules.end(), more.begin(), more.end());
  }
  const PolicyFile file = to_policy_file(weights, rules);
  const bool quiet = arguments->has("quiet");
  if (torchscript) {
    write_torchscript(weights, rules, arguments->text("to"));
    if (!quiet) {
      fmt::print("module    {} (TorchScript, {} machines)\n", arguments->text("to"),
                 machines.size());
    }
  } else if (arguments->has("to")) {
    const std::string bytes = format_policy(file);
    write_text_file(arguments->text("to"), bytes);
    if (!quiet) {
      fmt::print("policy    {} ({} bytes, {} machines)\n", arguments->text("to"), bytes.size(),
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
    fmt::print("csv       {} ({} lines; {} ranges left to NCCL, as its tuner cannot say them)\n",
               arguments->text("csv"), lines, left_out);
  }
  return 0;
}

}  // namespace

const Command& export_command() {
  static const Command command{
      .name = "export",
      .summary = "Writes a trained agent as a policy file, TorchScript, and for NCCL's stock tuner",
      .usage = "RUN --to FILE [--format policy|torchscript] [--csv FILE] [--seed N]",
      .examples =
          "  cclgym export results/train-ndv4 --to ndv4.policy\n"
          "      weights, normalisation, names, mask rules and provenance in one file, for the\n"
          "      runtime of docs/deploy.md\n"
          "  cclgym export results/train-ndv4 --format torchscript --to ndv4.pt\n"
          "      a module for torch.jit.load, with all that is in the policy file\n"
          "  cclgym export results/train-ndv4 --csv nccl_tuner.conf\n"
          "      size ranges for NCCL's example tuner: what such a line can say\n",
      .run = export_agent};
  return command;
}

}  // namespace cclgym
