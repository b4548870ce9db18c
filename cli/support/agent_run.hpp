// The folder of `cclgym train`, for the commands that use trained agents.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/training/checkpoint.hpp"
#include "agents/training/train_config.hpp"

namespace cclgym {

struct AgentRun {
  std::string folder;
  TrainConfig config;
  std::vector<std::uint64_t> seeds;  ///< seeds of the file that have a checkpoint
};

/// Seeds with a checkpoint in the folder of a training run, ascending.
[[nodiscard]] std::vector<std::uint64_t> trained_seeds(const std::string& folder);

/// Throws UserError if the folder is not that of a training run, or has no checkpoint.
[[nodiscard]] AgentRun load_agent_run(const std::string& folder);
/// The checkpoint of a seed. Throws UserError if it is damaged or belongs to another training run.
[[nodiscard]] Checkpoint load_agent(const AgentRun& run, std::uint64_t seed);

/// A sentence about agents among `seeds` whose training has not ended, with their iterations; empty
/// if all have.
[[nodiscard]] std::string unfinished_text(const AgentRun& run,
                                          std::span<const std::uint64_t> seeds);

/// Warns, once per text, about cost models that do not belong to their machines.
void print_cost_model_warnings(std::span<const TuningSetup* const> setups);

}  // namespace cclgym
