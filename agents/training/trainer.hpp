// Trains one agent: warm start, then PPO or DQN, with checkpoints, metrics and progress reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
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

/// Environments and experts of a training, which its agents use one after the other. They keep
/// nothing that affects a result.
class TrainingKit {
 public:
  using Notice = std::function<void(const std::string&)>;
  /// `notice` (may be empty) receives messages about slow parts. The configuration must outlive the
  /// kit.
  TrainingKit(const TrainConfig& config, std::size_t threads, Notice notice);
  /// Makes all experts and the oracle's tables, with this number of threads, instead of at their
  /// first use. Computes no gradients, so processes that do may be forked afterwards.
  void prepare(std::size_t threads);

  [[nodiscard]] Expert* expert_of(const TrainingPart& part);
  /// Environments side by side, which belong to the parts of iteration `number` in turn;
  /// `taken` receives their parts.
  [[nodiscard]] std::vector<CollectSlot> take_slots(std::uint64_t number, bool with_experts,
                                                    std::vector<const TrainingPart*>& taken);
  /// Keeps environments for later iterations.
  void keep_slots(std::vector<CollectSlot> slots, std::span<const TrainingPart* const> taken);

 private:
  [[nodiscard]] const std::vector<double>& weights_of(const TrainingPart& part);
  [[nodiscard]] std::unique_ptr<Environment> make_environment(const TrainingPart& part);

  const TrainConfig& config_;
  std::size_t threads_;
  Notice notice_;
  std::map<const TrainingPart*, std::vector<double>> weights_;  ///< weights of calls, by part
  std::map<const TrainingPart*, std::unique_ptr<Expert>> experts_;
  std::vector<std::map<const TrainingPart*, std::unique_ptr<Environment>>> slots_;
};

/// State of a seed before its first iteration. Throws UserError if the agent that it starts from
/// does not fit.
[[nodiscard]] Checkpoint begin_training(const TrainConfig& config, std::uint64_t seed,
                                        std::size_t threads);

/// Receives the results of an iteration, and a function that gives the state after it. Returns
/// false to stop there.
using AfterIteration =
    std::function<bool(const IterationReport& report, const std::function<Checkpoint()>& state)>;
/// Continues until the last iteration, and returns the state. The result depends neither on
/// `threads` nor on where training was interrupted before. `cpu_s` is the processor time until now,
/// in seconds. Throws UserError if the state belongs to another training.
[[nodiscard]] Checkpoint continue_training(const TrainConfig& config, Checkpoint state,
                                           double cpu_s, TrainingKit& kit, std::size_t threads,
                                           const AfterIteration& after);

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
