// cclgym loop: an agent that learns while an application runs on real hardware.
#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/loop/loop_config.hpp"
#include "calibration/loop/loop_plan.hpp"
#include "calibration/loop/loop_results.hpp"
#include "calibration/loop/loop_run.hpp"
#include "cli/deployment/exported_policy.hpp"
#include "cli/descriptions/loop_json.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/command.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/mpi_options.hpp"
#include "cli/support/print.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/progress.hpp"
#include "core/units.hpp"
#include "experiments/run/run_folder.hpp"

namespace cclgym {

namespace {

constexpr const char* kLoopFile = "loop.yaml";
constexpr const char* kLoopPage = "loop.html";
constexpr const char* kLoopPart = "calls.part.csv";
constexpr const char* kLoopLog = "worker.log";
constexpr std::size_t kLargestLoopFile = std::size_t{1} << 20;

OwnFiles loop_files() {
  return {.writer = "cclgym loop",
          .mark = kLoopEventsFile,
          .mark_begins = "at_s,what,",
          .others = {kLoopFile, kLoopPage, kLoopCallsFile, kLoopAgreementFile}};
}

std::string inside(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

// Prints the results, and writes the page unless there is no folder.
void publish(const std::string& name, const std::string& start, const LoopRecord& record,
             const std::string& folder, bool json) {
  const LoopResults results = loop_results(record, start);
  if (!json) print_out("{}", loop_text(record, results));
  if (!folder.empty()) {
    write_text_file(inside(folder, kLoopPage), loop_html(name, record, results));
    if (!json) print_out("\npage      {}\n", inside(folder, kLoopPage));
  }
  if (json) print_json(loop_results_json(record, results));
}

// The policy that the file names; nullopt if it names none.
std::optional<PolicyFile> read_policy(const LoopConfig& config) {
  if (!config.policy) return std::nullopt;
  const LoopPolicySpec& spec = *config.policy;
  std::error_code error;
  if (!std::filesystem::exists(spec.file, error)) {
    throw UserError(spec.where, fmt::format("there is no '{}'; expected a policy file of cclgym "
                                            "export, or the folder of a training",
                                            spec.file));
  }
  if (!spec.seed.empty() && !std::filesystem::is_directory(spec.file, error)) {
    throw UserError(spec.seed_where, "seed is only for the folder of a training");
  }
  try {
    return read_policy_or_run(spec.file,
                              spec.seed.empty() ? std::nullopt : std::optional(spec.seed))
        .file;
  } catch (const UserError& fault) {
    throw UserError(spec.where, fault.what());
  }
}

std::string chosen_name(const MpiConfig& config) {
  return mpi_config_text(config.algorithm, config.segment_bytes);
}

void print_plan(const LoopPlan& plan) {
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const LoopPlanCall& planned = plan.calls[i];
    std::string line = fmt::format("{} of {}: {} candidates", to_string(planned.call.collective),
                                   format_bytes(planned.call.bytes), planned.configs.size());
    for (const LoopLane* lane : lanes_with_tables(plan)) {
      line += fmt::format("; {}: {}", lane->name, chosen_name(planned.configs[lane->table[i]]));
    }
    print_out("{}\n", line);
  }
}

int loop(const std::vector<std::string>& args) {
  ArgumentReader reader(loop_command());
  reader.positional("FILE", "YAML file of the loop; not with --show", /*required=*/false)
      .option("out,o", "DIR",
              "folder for calls.csv, events.csv, agreement.csv, loop.yaml and loop.html")
      .option("show", "DIR",
              "folder of an earlier loop, whose tables are printed from its files (and its page is "
              "written with --out); nothing is measured")
      .flag("dry-run", "print the candidates and the first tables; nothing is measured")
      .flag("plan", "older name of --dry-run")
      .flag("json", kJsonHelp);
  add_launch_options(reader);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (arguments->has("show")) {
    for (const std::string& name : reader.names_besides({"show", "out", "json", "help"})) {
      if (!arguments->has(name)) continue;
      throw UserError(
          argument_location("show"),
          fmt::format("shows an earlier loop, on which {} has no effect; leave one of them out",
                      name));
    }
    const std::string folder = arguments->text("show");
    const LoopConfig config = load_loop_config(inside(folder, kLoopFile));
    const std::string out = arguments->has("out") ? arguments->text("out") : "";
    const LoopRecord record = read_loop_record(folder);
    if (!out.empty()) {
      refuse_foreign_files(out, loop_files());
      make_folder(out);
      write_loop_record(record, out);
      write_text_file(inside(out, kLoopFile),
                      read_text_file(inside(folder, kLoopFile), kLargestLoopFile));
    }
    publish(config.name, config.start, record, out, wants_json(*arguments));
    return 0;
  }
  if (!arguments->has("FILE")) {
    throw UserError("missing FILE; expected: cclgym loop " + loop_command().usage);
  }
  const std::string file = arguments->text("FILE");
  const LoopConfig config = load_loop_config(file);
  const std::optional<PolicyFile> policy = read_policy(config);
  const LoopPlan plan = plan_loop(config, policy ? &*policy : nullptr);
  const bool json = wants_json(*arguments);
  if (arguments->has("dry-run") || arguments->has("plan")) {
    if (json) {
      print_json(
          {{"ranks", plan.ranks}, {"seconds", config.seconds}, {"calls", loop_plan_json(plan)}});
    } else {
      print_plan(plan);
      print_out("time      {} (seconds of the file), besides the start\n",
                duration_text(config.seconds));
    }
    return 0;
  }
  if (!arguments->has("out")) {
    throw UserError(argument_location("out"), "is missing; expected the folder to write");
  }
  const std::string folder = arguments->text("out");
  refuse_foreign_files(folder, loop_files());
  make_folder(folder);
  if (!json) print_plan(plan);
  double shown_s = 0;
  const auto progress = [&](double at_s) {
    if (at_s < shown_s + 10) return;
    shown_s = at_s;
    print_error("{:.0f} of {:.0f} s\n", at_s, config.seconds);
  };
  // From then on, the files of an earlier loop must not look like those of this one.
  const auto begun = [&] {
    for (const char* name : {kLoopPage, kLoopCallsFile, kLoopAgreementFile, kLoopFile}) {
      std::filesystem::remove(inside(folder, name));
    }
  };
  const std::string partial = inside(folder, kLoopPart);
  LoopRecord record;
  {
    const InterruptNotice notice(
        fmt::format("interrupted: the calls so far are in {}; the machine may still be as the last "
                    "event left it",
                    partial),
        /*terminal=*/false);
    record = run_loop(config, plan, mpi_launch(*arguments), inside(folder, kLoopLog), partial,
                      {.begun = begun, .progress = progress});
  }
  write_loop_record(record, folder);
  write_text_file(inside(folder, kLoopFile), read_text_file(file, kLargestLoopFile));
  std::filesystem::remove(partial);
  publish(config.name, config.start, record, folder, json);
  return 0;
}

}  // namespace

const Command& loop_command() {
  static const Command command{
      .name = "loop",
      .summary = "Let an agent learn while an application runs on real hardware",
      .usage = "FILE --out DIR [options] | --show DIR [--out DIR]",
      .examples =
          "  cclgym loop experiments/loop-netlab.yaml --launch \"scripts/netlab mpirun\" "
          "-o results/loop\n"
          "      compares the agent call by call with OpenMPI's default, with its own first table\n"
          "      and with the best single table, while the file's events change the network;\n"
          "      tables here, plots in results/loop/loop.html\n"
          "  cclgym loop --show calibration/results/netlab/loop -o results/loop\n"
          "      the tables and the page of an earlier loop",
      .run = loop};
  return command;
}

}  // namespace cclgym
