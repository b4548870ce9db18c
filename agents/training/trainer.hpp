// Trains one agent: warm start, then PPO or DQN, with checkpoints, metrics and progress reports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/training/checkpoint.hpp"
#include "agents/training/collect.hpp"
#include "agents/training/measure.hpp"
#include "agents/training/train_config.hpp"

namespace cclgym {

/// Results of one iteration.
struct IterationReport {
  int iteration = 0;  ///< counted from 1
  bool warm_start = false;
  std::uint64_t calls = 0;  ///< number of calls since the beginning of the training
  double mean_reward = 0;   ///< mean over the rollout
  LossStatistics loss;      ///< means over the minibatches of the iteration
  double gradient_norm = 0;
  double learning_rate = 0;
  double cpu_s = 0;  ///< total of all threads since the beginning
  std::vector<PolicyMeasure>
      evaluation;  ///< by evaluation part; empty if not measured in this iteration
};

struct TrainerOptions {
  std::size_t threads = 1;  ///< results do not depend on it
  /// Called after each iteration. Returns false to stop there.
  std::function<bool(const IterationReport&)> report{};
  /// Called occasionally during slow parts before the first iteration.
  std::function<void(const std::string&)> notice{};
};

/// Folder of one seed: DIR/seed-N.
[[nodiscard]] std::string seed_folder(const std::string& folder, std::uint64_t seed);
/// Path of the checkpoint of one seed: DIR/seed-N/checkpoint.bin.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, std::uint64_t seed);
/// Throws UserError if a training of this file and seed cannot continue from the checkpoint at
/// `path`.
void check_checkpoint(const Checkpoint& checkpoint, const TrainConfig& config, std::uint64_t seed,
                      const std::string& path);

/// Trains from a seed in `folder`/seed-N, continuing from the checkpoint there if there is one. The
/// final weights depend only on the training file, the seed, the processor and the libraries, not
/// on threads or on when training was stopped and resumed. Returns the final state. Throws
/// UserError if the checkpoint is damaged or belongs to another training.
Checkpoint train_agent(const TrainConfig& config, std::uint64_t seed, const std::string& folder,
                       const TrainerOptions& options);

}  // namespace cclgym
