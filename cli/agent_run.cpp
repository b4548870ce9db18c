#include "cli/agent_run.hpp"

#include <filesystem>

#include "agents/trainer.hpp"
#include "core/error.hpp"

namespace cclgym {

AgentRun load_agent_run(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder + "/train.yaml", error)) {
    throw UserError(quoted(folder, 200) + ": not the folder of a training: it has no train.yaml");
  }
  AgentRun run{.folder = folder, .config = load_train_config(folder + "/train.yaml"), .seeds = {}};
  for (const std::uint64_t seed : run.config.seeds) {
    if (std::filesystem::exists(checkpoint_path(folder, seed), error)) run.seeds.push_back(seed);
  }
  if (run.seeds.empty()) {
    throw UserError(quoted(folder, 200) + ": no seed has a checkpoint; run cclgym train first");
  }
  return run;
}

Checkpoint load_agent(const AgentRun& run, std::uint64_t seed) {
  const std::string path = checkpoint_path(run.folder, seed);
  Checkpoint checkpoint = load_checkpoint(path);
  if (checkpoint.config_hash != run.config.hash()) {
    throw UserError(quoted(path, 200) + ": of another training than train.yaml beside it");
  }
  return checkpoint;
}

}  // namespace cclgym
