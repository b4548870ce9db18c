// The agents of a training run, as policies to evaluate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "agents/trigger/detector_table.hpp"
#include "cli/support/agent_run.hpp"

namespace cclgym {

/// The triggers of a run's agents that have any.
[[nodiscard]] std::vector<SeedTrigger> triggers_of(const AgentRun& run);

/// The agent of a run and, if triggers were trained, the same agent with its triggers and frozen.
[[nodiscard]] std::vector<EvaluatedPolicy> agents_of(const std::shared_ptr<const AgentRun>& run);

/// Hash of the agents and triggers of a run, and of its file.
[[nodiscard]] std::string hash_of(const AgentRun& run);

}  // namespace cclgym
