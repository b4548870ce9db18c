// metrics.csv: the learning curve, a row an iteration.
#pragma once

#include <string>
#include <vector>

#include "agents/training/trainer.hpp"

namespace cclgym {

/// The header line, with a break: iteration, phase, calls, mean_reward, …, and for each evaluation
/// part LABEL:mean_reward, LABEL:oracle_ratio, LABEL:worst_cell, LABEL:default_ratio.
[[nodiscard]] std::string metrics_header(const TrainConfig& config);
/// A row, with a break; fields of what was not measured are empty.
[[nodiscard]] std::string metrics_row(const TrainConfig& config, const IterationReport& report);

/// A metrics file that grows row by row, and is cut back to where a resumed training goes on.
class MetricsFile {
 public:
  /// Keeps the rows of iterations up to `iteration` of a file that is there. Throws UserError.
  MetricsFile(const TrainConfig& config, std::string path, int iteration);
  void add(const IterationReport& report);

 private:
  const TrainConfig& config_;
  std::string path_;
};

}  // namespace cclgym
