// Parts of trainings as bytes, between processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/training/trainer.hpp"
#include "agents/trigger/agent_triggers.hpp"

namespace cclgym {

/// Input of a task that trains an agent for a while.
struct TrainingOrder {
  double budget_s = 0;     ///< elapsed time after which no iteration is begun
  double cpu_s = 0;        ///< processor time of the training until now, in seconds
  std::string checkpoint;  ///< write_checkpoint; empty: the training begins
};

/// Result of that task.
struct TrainedPart {
  std::string checkpoint;                ///< write_checkpoint
  std::vector<IterationReport> reports;  ///< one per iteration
  std::vector<std::string> notices;      ///< about slow parts before the first iteration
  bool ended = false;                    ///< true after the last iteration
  AgentTriggers triggers;                ///< trained after the last iteration
};

// Numbers keep their bits. Readers return nullopt if the bytes are something else.
[[nodiscard]] std::string training_order_bytes(const TrainingOrder& order);
[[nodiscard]] std::optional<TrainingOrder> read_training_order(std::string_view bytes);
[[nodiscard]] std::string trained_part_bytes(const TrainedPart& part);
[[nodiscard]] std::optional<TrainedPart> read_trained_part(std::string_view bytes);

}  // namespace cclgym
