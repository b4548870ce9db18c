// Triggers of an agent, one for every environment of its training that changes.
#pragma once

#include <string>
#include <vector>

#include "agents/training/checkpoint.hpp"
#include "agents/training/train_config.hpp"

namespace cclgym {

struct AgentTriggers {
  std::string text;                ///< contents of trigger.yaml; empty if none is wanted
  std::vector<std::string> lines;  ///< the result of each trigger as a sentence
};

/// Trains the triggers that a training file asks for, with the agent of a seed. Deterministic.
[[nodiscard]] AgentTriggers train_agent_triggers(const TrainConfig& config,
                                                 const Checkpoint& state);

}  // namespace cclgym
