// The folder of `cclgym train`, for the commands that use what was trained.
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
  std::vector<std::uint64_t> seeds;  ///< those of the file that have a checkpoint
};

/// Throws UserError if the folder is none of a training, or has no checkpoint.
[[nodiscard]] AgentRun load_agent_run(const std::string& folder);
/// The checkpoint of a seed. Throws UserError if it is damaged or of another training.
[[nodiscard]] Checkpoint load_agent(const AgentRun& run, std::uint64_t seed);

/// Warns, each text once, of cost models that are not of the machines they stand for.
void print_cost_model_warnings(std::span<const TuningSetup* const> setups);

}  // namespace cclgym
