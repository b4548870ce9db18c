// cclgym export: writes a trained agent as a policy file, TorchScript or ONNX, and as a CSV for
// NCCL's stock tuner.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "agents/export/onnx_model.hpp"
#include "agents/export/torchscript.hpp"
#include "agents/export/tuner_csv.hpp"
#include "cli/deployment/export_target.hpp"
#include "cli/deployment/exported_policy.hpp"
#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "cli/support/torch_program.hpp"
#include "core/files/text_file.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

namespace {

enum class Format { Policy, TorchScript, Onnx };  // in the order of format_option()

ExportForm form_of(Format format) {
  if (format == Format::TorchScript) return ExportForm::TorchScript;
  return format == Format::Onnx ? ExportForm::Onnx : ExportForm::Policy;
}

OptionSpec format_option() {
  return {.name = "format",
          .kind = OptionKind::Choice,
          .description = "format of the file of --to",
          .default_text = "policy",
          .choices = {"policy", "torchscript", "onnx"}};
}

// A file that the command writes, with a remark for the user.
struct ExportedFile {
  std::string kind;
  std::string path;
  std::string remark;
  std::string contents;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
};

ExportedFile policy_to(Format format, const std::string& path, const ExportedPolicy& policy) {
  const std::size_t machines = policy.machines.size();
  if (format == Format::Onnx) {
    return {.kind = "model",
            .path = path,
            .remark = fmt::format("ONNX; opset {}; machines: {}", kOnnxOpset, machines),
            .contents = onnx_model(policy.weights, policy.rules)};
  }
  if (format == Format::TorchScript) {
    return {.kind = "module",
            .path = path,
            .remark = fmt::format("TorchScript; machines: {}", machines),
            .contents = torchscript_module(policy.weights, policy.rules)};
  }
  const std::string bytes = format_policy(policy.file);
  return {.kind = "policy",
          .path = path,
          .remark = fmt::format("{} bytes; machines: {}", bytes.size(), machines),
          .contents = bytes};
}

ExportedFile csv_to(const std::string& path, const ExportedPolicy& policy) {
  std::string csv;
  int lines = 0;
  int left_out = 0;
  for (const auto& machine : policy.machines) {
    const TunerCsv one = tuner_csv(policy.file, *machine);
    csv += one.text;
    lines += one.lines;
    left_out += one.left_out;
  }
  return {
      .kind = "csv",
      .path = path,
      .remark = fmt::format("{} lines; {} ranges left to NCCL, as its tuner cannot express them",
                            lines, left_out),
      .contents = std::move(csv),
      .facts = {{"lines", lines}, {"ranges_left_to_nccl", left_out}}};
}

void print_exported(const std::vector<ExportedFile>& files, const ExportedPolicy& policy,
                    bool written, bool json) {
  if (!json) {
    if (!written) print_out("{}", kNothingWritten);
    for (const ExportedFile& file : files) {
      print_out("{:<9} {} ({})\n", file.kind, file.path, file.remark);
    }
    return;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ExportedFile& file : files) {
    nlohmann::ordered_json one{
        {"kind", file.kind}, {"path", file.path}, {"bytes", file.contents.size()}};
    one.update(file.facts);
    list.push_back(std::move(one));
  }
  nlohmann::ordered_json machines = nlohmann::ordered_json::array();
  for (const auto& machine : policy.machines) machines.push_back(machine->fabric_label);
  print_json({{"written", written}, {"machines", machines}, {"files", list}});
}

int export_agent(const std::vector<std::string>& args) {
  const auto arguments = ArgumentReader(export_command())
                             .positional("RUN", "folder of a training run")
                             .output("to", "FILE", "file to write (.policy, .pt, .onnx)")
                             .option(format_option(), "FORMAT")
                             .output("csv", "FILE", "CSV file to write for NCCL's stock tuner")
                             .option(agent_seed_option(), "N")
                             .flag("force", "write over files that are no exports")
                             .flag("dry-run", "print what would be written; nothing is written")
                             .flag("quiet", "print only errors")
                             .flag("json", kJsonHelp)
                             .read(args);
  if (!arguments) return 0;
  if (!arguments->has("to") && !arguments->has("csv")) {
    throw UserError("--to or --csv is missing; see cclgym export --help");
  }
  const OptionSpec formats = format_option();
  const std::size_t chosen =
      arguments->has("format")
          ? read_choice(arguments->text("format"), formats, argument_location("format"))
          : 0;
  const auto format = static_cast<Format>(chosen);
  if (format != Format::Policy && !arguments->has("to")) {
    throw UserError(
        fmt::format("--format {} needs --to; see cclgym export --help", formats.choices[chosen]));
  }
  if (format == Format::TorchScript) need_torch("export", args, "write TorchScript");
  if (format == Format::Onnx) need_onnx();
  const AgentRun run = load_agent_run(arguments->text("RUN"));
  const bool force = arguments->has("force");
  if (arguments->has("to")) check_export_target(*arguments, "to", form_of(format), force);
  if (arguments->has("csv")) {
    check_export_target(*arguments, "csv", ExportForm::TunerCsv, force);
  }
  const ExportedPolicy policy = export_policy(
      run, arguments->has("seed") ? std::optional(arguments->text("seed")) : std::nullopt);
  std::vector<ExportedFile> files;
  if (arguments->has("to")) files.push_back(policy_to(format, arguments->text("to"), policy));
  if (arguments->has("csv")) files.push_back(csv_to(arguments->text("csv"), policy));
  const bool written = !arguments->has("dry-run");
  for (const ExportedFile& file : files) {
    if (written) write_text_file(file.path, file.contents);
  }
  const bool json = wants_json(*arguments);
  if (json || !arguments->has("quiet")) print_exported(files, policy, written, json);
  return 0;
}

}  // namespace

const Command& export_command() {
  static const Command command{
      .name = "export",
      .summary = "Write a trained agent as a policy file, as TorchScript, ONNX or for NCCL's tuner",
      .usage = "RUN --to FILE [--format policy|torchscript|onnx] [--csv FILE] [options]",
      .examples =
          "  cclgym export results/train-ndv4 --to ndv4.policy\n"
          "      weights, normalisation, names, mask rules and provenance in one file, for the\n"
          "      runtime of docs/deploy.md\n"
          "  cclgym export results/train-ndv4 --format torchscript --to ndv4.pt\n"
          "      a module for torch.jit.load, with all that is in the policy file\n"
          "  cclgym export results/train-ndv4 --format onnx --to ndv4.onnx\n"
          "      a model for onnxruntime, with the same content\n"
          "  cclgym export results/train-ndv4 --csv nccl_tuner.conf\n"
          "      size ranges for NCCL's example tuner, as far as its format allows\n",
      .run = export_agent};
  return command;
}

}  // namespace cclgym
