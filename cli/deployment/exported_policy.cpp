#include "cli/deployment/exported_policy.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <span>

#include "agents/export/deployed_setup.hpp"
#include "cli/deployment/deploy_folder.hpp"
#include "cli/support/command.hpp"
#include "core/files/text_file.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

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

}  // namespace

OptionSpec agent_seed_option() {
  return {.name = "seed",
          .kind = OptionKind::Integer,
          .description = "seed of the agent to use",
          .min = 0,
          .max = 9e15,
          .default_text = "the first that was trained"};
}

ExportedPolicy export_policy(const AgentRun& run, const std::optional<std::string>& seed_text) {
  std::uint64_t seed = run.seeds.front();
  if (seed_text) {
    seed = static_cast<std::uint64_t>(
        read_integer(*seed_text, agent_seed_option(), argument_location("seed")));
  }
  const Checkpoint checkpoint = load_agent(run, seed);
  print_warning(unfinished_text(run, std::span(&seed, 1)));
  ExportedPolicy policy;
  policy.weights = checkpoint.weights;
  std::string& provenance = policy.weights.provenance;
  provenance += fmt::format(
      "{}exported by cclgym {} from training {} ({}), seed {}, iteration {} of {}\n",
      provenance.empty() || provenance.ends_with('\n') ? "" : "\n", program_version(),
      run.config.name, checkpoint.config_hash, seed, checkpoint.iteration, run.config.iterations());
  policy.machines = machines_of(run.config);
  for (const auto& machine : policy.machines) {
    const auto more = policy_rules(*machine->actions, machine->fabric_label);
    policy.rules.insert(policy.rules.end(), more.begin(), more.end());
  }
  policy.file = to_policy_file(policy.weights, policy.rules);
  return policy;
}

ExportedPolicy read_policy_or_run(const std::string& source,
                                  const std::optional<std::string>& seed) {
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    const std::filesystem::path deployed = std::filesystem::path(source) / kDeployedPolicy;
    if (!std::filesystem::exists(source + "/train.yaml", error) &&
        std::filesystem::is_regular_file(deployed, error)) {
      throw UserError(quoted(source, 200) +
                      " is a folder of cclgym deploy, not of a training run; name its policy: " +
                      deployed.string());
    }
    return export_policy(load_agent_run(source), seed);
  }
  if (seed) throw UserError(argument_location("seed"), "is only for the folder of a training");
  ExportedPolicy policy;
  policy.file = parse_policy(read_text_file(source, kMostPolicyBytes), source);
  return policy;
}

std::vector<std::string> machine_labels(const Arguments& arguments) {
  return arguments.names("machine");
}

std::vector<std::shared_ptr<const TuningSetup>> chosen_setups(
    const ExportedPolicy& policy, const std::vector<std::string>& labels) {
  std::vector<NamedMachine> machines;
  try {
    machines = named_machines(machines_of_policy(policy.file), labels);
  } catch (const UserError& error) {
    throw UserError(argument_location("machine"), error.what());
  }
  std::vector<std::shared_ptr<const TuningSetup>> setups;
  for (const NamedMachine& machine : machines) {
    const auto trained = std::ranges::find_if(
        policy.machines, [&](const auto& setup) { return setup->fabric_label == machine.label; });
    setups.push_back(trained != policy.machines.end() ? *trained
                                                      : setup_of_label(policy.file, machine));
  }
  return setups;
}

}  // namespace cclgym
