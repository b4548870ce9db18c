// metrics.csv: the learning curve, one row per iteration.
#pragma once

#include <string>
#include <vector>

#include "agents/training/trainer.hpp"

namespace cclgym {

/// The header line with its newline: iteration, phase, calls, mean_reward, …; then, for each
/// evaluation part, LABEL:mean_reward, LABEL:oracle_ratio, LABEL:worst_cell, LABEL:default_ratio.
[[nodiscard]] std::string metrics_header(const TrainConfig& config);
/// A row with its newline; fields that were not measured are empty.
[[nodiscard]] std::string metrics_row(const TrainConfig& config, const IterationReport& report);

/// A metrics file that grows by rows, and is truncated to the iteration from which a training
/// resumes.
class MetricsFile {
 public:
  /// Keeps the rows of an existing file up to `iteration`. Throws UserError.
  MetricsFile(const TrainConfig& config, std::string path, int iteration);
  void add(const IterationReport& report);
  /// Processor time at the end of the last kept row, in seconds; 0 without one.
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  const TrainConfig& config_;
  std::string path_;
  double cpu_s_ = 0;
};

}  // namespace cclgym
