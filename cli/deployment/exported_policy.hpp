// A policy as a file, read from any of the sources that commands accept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "cli/support/agent_run.hpp"
#include "cli/support/command.hpp"
#include "core/options/option.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

struct ExportedPolicy {
  PolicyFile file;
  /// machines of training and evaluation, each once; empty for a policy read from a file
  std::vector<std::shared_ptr<const TuningSetup>> machines;
  // Empty for a policy read from a file.
  PolicyWeights weights;
  std::vector<PolicyRules> rules;
};

/// Record of the option --seed, the seed of the agent to use.
[[nodiscard]] OptionSpec agent_seed_option();

/// The agent of a training run; `seed` is the text of --seed, or nullopt for the first seed. Warns
/// if its training has not ended.
[[nodiscard]] ExportedPolicy export_policy(const AgentRun& run,
                                           const std::optional<std::string>& seed);
/// Exports the agent of a run if `source` is a folder; otherwise reads a policy file, for which
/// --seed is an error.
[[nodiscard]] ExportedPolicy read_policy_or_run(const std::string& source,
                                                const std::optional<std::string>& seed);

/// The labels of --machine, separated by commas; none if the option is not given.
[[nodiscard]] std::vector<std::string> machine_labels(const Arguments& arguments);
/// The machines of a run or a policy file that the labels name (named_machines). Throws UserError
/// at --machine.
[[nodiscard]] std::vector<std::shared_ptr<const TuningSetup>> chosen_setups(
    const ExportedPolicy& policy, const std::vector<std::string>& labels);

}  // namespace cclgym
