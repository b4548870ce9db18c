// cclgym deploy: writes a folder that gives an NCCL job a policy, a table or other constants.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>

#include "agents/export/deployed_dispatch.hpp"
#include "agents/export/deployed_machine.hpp"
#include "agents/export/deployed_release.hpp"
#include "agents/export/deployed_setup.hpp"
#include "agents/export/tuner_csv.hpp"
#include "cli/deployment/deploy_constants.hpp"
#include "cli/deployment/deploy_folder.hpp"
#include "cli/deployment/deploy_msccl.hpp"
#include "cli/deployment/deployed_environment.hpp"
#include "cli/deployment/exported_policy.hpp"
#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "core/version.hpp"
#include "deploy/nccl_plugin/kernel_times.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMostTimesBytes = std::size_t{1} << 30;

// The deployment that the command line requests.
struct Deployment {
  const Arguments& arguments;
  const DeployedRelease& release;
  std::vector<std::string> labels;  ///< values of --machine; empty: all
  std::vector<DeployedFile> files{};
  std::vector<std::string> said{};  ///< lines for the user and the README

  void add(std::string_view name, std::string contents) {
    files.push_back({std::string(name), std::move(contents)});
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(files, name, &DeployedFile::name) != files.end();
  }
};

ExportedPolicy read_policy(const Arguments& arguments) {
  return read_policy_or_run(arguments.text("policy"), arguments.has("seed")
                                                          ? std::optional(arguments.text("seed"))
                                                          : std::nullopt);
}

void add_policy(Deployment& deployment) {
  const Arguments& arguments = deployment.arguments;
  const std::string& source = arguments.text("policy");
  ExportedPolicy policy = read_policy(arguments);
  const std::string times_text = arguments.has("times")
                                     ? read_text_file(arguments.text("times"), kMostTimesBytes)
                                     : std::string(kTimesHeader);
  std::vector<DeployedMachine> machines;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> sizes;
  std::string csv;
  for (const auto& setup : chosen_setups(policy, deployment.labels)) {
    const Fabric& fabric = *setup->site->fabrics.front();
    const auto ranks = static_cast<std::uint32_t>(fabric.ranks());
    const auto nodes = static_cast<std::uint32_t>(fabric.servers());
    const auto [other, added] = sizes.emplace(std::pair(ranks, nodes), setup->fabric_label);
    if (!added) {
      throw UserError(
          source + ": machines '" + other->second + "' and '" + setup->fabric_label +
          "' have equal numbers of ranks and nodes, so a job cannot tell them apart; name one "
          "with --machine");
    }
    const RecordedTimes times(
        times_text, arguments.has("times") ? arguments.text("times") : "times", ranks, nodes);
    DeployedChoices choices = deployed_choices(policy.file, *setup, times);
    check_release(choices, *setup, deployment.release, source);
    const TunerCsv lines = tuner_csv(choices, *setup);
    csv += lines.text;
    deployment.said.push_back(fmt::format(
        "{}: ranks {}, nodes {}, lines of CSV {}{}{}", setup->fabric_label, ranks, nodes,
        lines.lines,
        lines.left_out > 0 ? fmt::format(", {} ranges that it cannot express", lines.left_out) : "",
        times.calls() > 0
            ? fmt::format("; {} recorded calls, which gave the times of {} observed ones",
                          times.calls(), choices.recorded_calls)
            : ""));
    std::string unasked;
    for (const std::string& collective : collectives_of_policy(policy.file, setup->fabric_label)) {
      if (nccl_collective_of(collective)) continue;
      unasked += (unasked.empty() ? "" : ", ") + collective;
    }
    if (!unasked.empty()) {
      deployment.said.push_back(
          fmt::format("{}: the policy's choices for {} are not deployed: NCCL asks no tuner about "
                      "it",
                      setup->fabric_label, unasked));
    }
    const int beyond = choices_not_offered(choices, *setup, deployment.release);
    if (beyond > 0) {
      deployment.said.push_back(
          fmt::format("{}: at {} sizes NCCL is not expected to offer the policy's first choice; "
                      "the plugin takes the policy's next one",
                      setup->fabric_label, beyond));
    }
    machines.push_back(std::move(choices.machine));
  }
  set_machines(policy.file, machines);
  // Refuses here what the plugin would refuse in the job.
  for (const DeployedMachine& machine : machines) {
    (void)PolicyChoices(policy.file, source, machine.ranks, machine.nodes);
  }
  deployment.add(kDeployedPolicy, format_policy(policy.file));
  deployment.add(kDeployedCsv, std::move(csv));
}

void add_dispatch(Deployment& deployment) {
  const std::string& path = deployment.arguments.text("dispatch");
  const TunerCsv csv =
      dispatch_csv(load_dispatch_table(path), deployment.labels, deployment.release.pat);
  deployment.said.push_back(fmt::format("{}: {} lines of CSV{}", path, csv.lines,
                                        csv.left_out > 0
                                            ? fmt::format(", {} tables left out: NCCL's tuner is "
                                                          "not asked about their collectives",
                                                          csv.left_out)
                                            : ""));
  deployment.add(kDeployedCsv, csv.text);
}

void add_constants(Deployment& deployment) {
  if (!deployment.release.constants) {
    throw UserError(argument_location("constants"),
                    deployment.release.name +
                        " does not let a tuner set the constants of its model; nccl-2.28 does");
  }
  if (deployment.labels.size() != 1) {
    throw UserError(argument_location("constants"), "is for one machine; name it with --machine");
  }
  FittedConstants fitted = fit_constants(deployment.labels.front(), deployment.release.name);
  deployment.said.insert(deployment.said.end(), fitted.said.begin(), fitted.said.end());
  deployment.add(kDeployedConstants, std::move(fitted.text));
}

std::string environment_file(const Deployment& deployment, const std::string& folder) {
  std::string text = fmt::format(
      "{} {} for {}. In every rank's environment, before NCCL starts:\n"
      "#   . {}\n"
      "{}"
      "export NCCL_TUNER_PLUGIN=\"$CCLGYM_DEPLOYED/{}\"\n",
      kEnvironmentMark, program_version(), deployment.release.name,
      shell_quoted(folder + "/" + std::string(kDeployedEnvironment)),
      find_deployed(folder, kDeployedPlugin), kDeployedPlugin);
  const auto set = [&](const char* variable, std::string_view name) {
    text += fmt::format("export {}=\"$CCLGYM_DEPLOYED/{}\"\n", variable, name);
  };
  if (deployment.has(kDeployedPolicy)) {
    set("CCLGYM_POLICY", kDeployedPolicy);
    text += "# The same choices as a table to read and edit:\n# ";
  }
  if (deployment.has(kDeployedCsv)) set("CCLGYM_TUNER_CSV", kDeployedCsv);
  if (deployment.has(kDeployedConstants)) set("CCLGYM_TUNER_CONSTANTS", kDeployedConstants);
  if (deployment.release.profiler > 0) {
    text += fmt::format(
        "# Times of all collectives, one file per rank:\n"
        "# export NCCL_PROFILER_PLUGIN=\"$CCLGYM_DEPLOYED/{}\" CCLGYM_PROFILE=times-%r.csv\n",
        kDeployedPlugin);
  }
  return text + kDeployedFound;
}

std::string readme(const Deployment& deployment, const std::string& folder) {
  std::string text = fmt::format(
      "# Choices for {}\n\nWritten by cclgym deploy {}. Two lines to add to a job:\n\n"
      "```sh\n. {}\nexport NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING   # the first time: "
      "NCCL's log says what is loaded and chosen\n```\n\n"
      "All ranks must see the same folder: each rank decides by itself, and NCCL does not check "
      "that the\nchoices agree. NCCL_ALGO and NCCL_PROTO, if they are set, win.\n\n",
      deployment.release.name, program_version(),
      shell_quoted(folder + "/" + std::string(kDeployedEnvironment)));
  for (const std::string& line : deployment.said) text += "* " + line + "\n";
  if (deployment.release.tuner == 2) {
    text +=
        "\nNCCL 2.21 does not tell a tuner what it supports: only Ring, and Tree for AllReduce, "
        "with "
        "LL or\nSimple are taken; other choices are left to NCCL.\n";
  }
  return text;
}

// --for: the releases of NCCL, and the executors of MSCCL.
OptionSpec target_option() {
  OptionSpec spec = release_option();
  spec.description = "release of NCCL that the job uses, or executor of MSCCL programs";
  spec.choices.emplace_back(kForMsccl);
  spec.choices.emplace_back(kForMscclAzure);
  return spec;
}

// Writes the folder, unless this is a dry run, and says so. `lines`: the lines of its README for a
// job.
void finish_deployment(const Arguments& arguments, const std::string& folder,
                       const std::vector<DeployedFile>& files, const std::vector<std::string>& said,
                       const char* lines) {
  const bool written = !arguments.has("dry-run");
  if (written) write_deploy_folder(folder, files, arguments.has("force"));
  if (wants_json(arguments)) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeployedFile& file : files) {
      list.push_back({{"name", file.name}, {"bytes", file.contents.size()}});
    }
    print_json({{"written", written},
                {"folder", folder},
                {"for", arguments.text("for")},
                {"files", list},
                {"notes", said}});
    return;
  }
  if (arguments.has("quiet")) return;
  if (!written) print_out("{}", kNothingWritten);
  for (const std::string& line : said) print_out("{}\n", line);
  if (!written) {
    for (const DeployedFile& file : files) {
      print_out("file      {} ({} bytes)\n", file.name, file.contents.size());
    }
  }
  print_out("folder    {} (for {}; its README.md has the {} to add to a job)\n",
            arguments.text("out"), arguments.text("for"), lines);
}

int deploy_programs(const Arguments& arguments, XmlDialect dialect, const std::string& folder) {
  for (const char* name : {"dispatch", "constants", "times"}) {
    if (!arguments.has(name)) continue;
    throw UserError(argument_location(name),
                    "is for a release of NCCL, not for " + arguments.text("for"));
  }
  const ExportedPolicy policy = read_policy(arguments);
  const auto setups = chosen_setups(policy, machine_labels(arguments));
  if (setups.size() != 1) {
    throw UserError(argument_location("for"),
                    "programs are for one machine; name it with --machine");
  }
  const MscclDeployment made =
      deploy_msccl(policy.file, *setups.front(), dialect, arguments.text("policy"), folder);
  finish_deployment(arguments, folder, made.files, made.said, "line");
  return 0;
}

int deploy(const std::vector<std::string>& args) {
  const auto arguments =
      ArgumentReader(deploy_command())
          .option("policy", "P|RUN", "policy file, or the folder of a training run")
          .option("dispatch", "FILE", "dispatch table to deploy instead of a policy")
          .flag("constants", "fit the constants of NCCL's own model to the machine")
          .option(target_option(), "RELEASE")
          .option(
              "machine", "LABEL",
              "machine to deploy for, or several: A,B; labels of the policy or table, or fabric "
              "files [default: all]")
          .option("times", "FILE",
                  "file with the kernel times of a job, which the policy sees as recent calls")
          .option(agent_seed_option(), "N")
          .option("out,o", "DIR", "folder to write")
          .flag("force", "write into a folder that has other files")
          .flag("dry-run", "print what would be written; nothing is written")
          .flag("quiet", "print only errors")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  for (const char* name : {"for", "out"}) static_cast<void>(arguments->required(name));
  const bool policy = arguments->has("policy");
  const bool dispatch = arguments->has("dispatch");
  if (policy && dispatch) throw UserError("--policy and --dispatch exclude each other");
  if (!policy && !dispatch && !arguments->has("constants")) {
    throw UserError("--policy, --dispatch or --constants is missing; see cclgym deploy --help");
  }
  for (const char* name : {"times", "seed"}) {
    if (arguments->has(name) && !policy) {
      throw UserError(argument_location(name), "is for a policy, but --policy is missing");
    }
  }
  const std::string folder =
      std::filesystem::absolute(arguments->text("out")).lexically_normal().string();
  check_deploy_folder(folder, arguments->has("force"));
  for (const char* name : {"policy", "dispatch", "times"}) {
    if (!arguments->has(name)) continue;
    refuse_deployed_file(arguments->text(name), folder, argument_location(name));
  }
  if (const auto dialect = msccl_dialect(arguments->text("for"))) {
    return deploy_programs(*arguments, *dialect, folder);
  }
  Deployment deployment{.arguments = *arguments,
                        .release = deployed_release(arguments->text("for"),
                                                    argument_location("for"), target_option()),
                        .labels = machine_labels(*arguments)};
  deployment.add(kDeployedPlugin, read_plugin());
  if (policy) add_policy(deployment);
  if (dispatch) add_dispatch(deployment);
  if (arguments->has("constants")) add_constants(deployment);
  deployment.add(kDeployedEnvironment, environment_file(deployment, folder));
  deployment.add(kDeployedReadme, readme(deployment, folder));
  finish_deployment(*arguments, folder, deployment.files, deployment.said, "two lines");
  return 0;
}

}  // namespace

const Command& deploy_command() {
  static const Command command{
      .name = "deploy",
      .summary = "Write a folder that gives NCCL jobs a policy, a table or constants",
      .usage = "--policy P|RUN | --dispatch FILE | --constants  --for RELEASE -o DIR [options]",
      .examples =
          "  cclgym deploy --policy results/train-ndv4 --for nccl-2.30 -o deployed\n"
          "      the plugin, the policy, its choices as a table, an environment file and a README\n"
          "  cclgym deploy --policy ndv4.policy --machine ndv4 --for nccl-2.28 -o deployed\n"
          "      for one of the machines that the policy has rules for\n"
          "  cclgym deploy --policy results/train-offline --machine dgx1 --for msccl -o deployed\n"
          "      programs in MSCCL XML, each for the sizes at which the policy chooses it\n"
          "  cclgym deploy --dispatch table.yaml --for nccl-2.24 -o deployed\n"
          "      the table of tune-dispatch\n"
          "  cclgym deploy --constants --machine ndv4 --for nccl-2.28 -o deployed\n"
          "      NCCL decides by its own model, with constants that fit the machine\n",
      .run = deploy};
  return command;
}

}  // namespace cclgym
