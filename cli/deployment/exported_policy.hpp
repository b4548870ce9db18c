// A policy as a file, from wherever a command is given it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "cli/support/agent_run.hpp"
#include "core/options/option.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

struct ExportedPolicy {
  PolicyFile file;
  /// The machines that were trained and evaluated on, each once; empty: it comes from a file.
  std::vector<std::shared_ptr<const TuningSetup>> machines;
  // Of a training only.
  PolicyWeights weights;
  std::vector<PolicyRules> rules;
};

/// "--seed N": whose agent.
[[nodiscard]] OptionSpec agent_seed_option();

/// The agent of a training; `seed`: the text of --seed, or nothing for the first.
[[nodiscard]] ExportedPolicy export_policy(const AgentRun& run,
                                           const std::optional<std::string>& seed);
/// The same for a folder; otherwise reads a policy file, which --seed does not go with.
[[nodiscard]] ExportedPolicy read_policy_or_run(const std::string& source,
                                                const std::optional<std::string>& seed);

}  // namespace cclgym
