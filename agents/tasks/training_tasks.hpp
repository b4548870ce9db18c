// Trainings whose agents are trained by tasks: on the ranks of an MPI run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agents/training/train_config.hpp"
#include "agents/training/trainer.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {

/// A training file or one of its variants, and the folder of its results.
struct Training {
  TrainConfig config;
  std::vector<std::uint64_t> seeds;
  std::string folder;
};

/// Tasks that train agents, to share with all processes of the run. Task i is the i-th seed,
/// counted through all trainings. `trainings` must outlive the set.
[[nodiscard]] TaskSet training_tasks(std::span<const Training> trainings, std::size_t threads);

/// An agent after its training.
struct TrainedAgent {
  std::size_t training = 0;  ///< index
  std::uint64_t seed = 0;
  int iteration = 0;                         ///< iterations done
  IterationReport last{};                    ///< last iteration done now; 0 if none was left
  std::vector<std::string> trigger_lines{};  ///< AgentTriggers::lines
};

struct TrainingObserver {
  /// Before the first task: the number of iterations that an agent has done.
  std::function<void(std::size_t agent, int iteration)> on_begin;
  std::function<void(std::size_t agent, const std::string& text)> on_notice;
  std::function<void(std::size_t agent, std::span<const IterationReport> reports)> on_reports;
  /// Called in the order of the agents.
  std::function<void(std::size_t agent, const TrainedAgent& trained)> on_end;
};

/// Trains all agents of `trainings`, which have the tasks `set`. In each round, up to `workers`
/// agents are trained for a while, those first that had the fewest rounds. This process keeps their
/// states and writes the files of train_agent, and the triggers. They have the bytes of
/// train_agent's for any number of workers and rounds, apart from processor times.
void train_in_rounds(TaskSet& set, const TaskOptions& options, std::span<const Training> trainings,
                     std::size_t workers, const TrainingObserver& observer);

}  // namespace cclgym
