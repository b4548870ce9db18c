// Predictions on the ranks of an MPI run: each call is a round of tasks.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/fit/predict.hpp"

namespace cclgym {

/// Cells of one site and collective in the order of their sizes: larger messages begin like smaller
/// ones, whose first tiles a simulator keeps.
struct PredictionGroup {
  const PredictionSite* site = nullptr;
  std::vector<std::size_t> cells;
};

/// Each task simulates neighbouring cells of a group under one cost model. Every worker makes
/// simulators when it needs them and keeps them from round to round. Cells may be divided into
/// tasks in any way, and go to any worker, because predictions do not depend on what a simulator
/// keeps.
class PredictionRounds {
 public:
  /// `cells` and `groups` must outlive this; `models` as in Predictor::share.
  PredictionRounds(const std::vector<MeasuredCell>& cells,
                   const std::vector<PredictionGroup>& groups, TaskOptions options,
                   std::optional<SharedModels> models);

  /// Serves the tasks in a process that only does that, and returns in others.
  void share();
  [[nodiscard]] std::vector<std::vector<Prediction>> predict(
      std::span<const PredictionRequest> requests, const PredictionProgress& on_answer);
  [[nodiscard]] std::vector<Prediction> predict_own(const PredictionProgress& on_cell);

 private:
  class Worker;
  // Cells of a group that are simulated in a row under the model of a request.
  struct Chunk {
    std::size_t request = 0;
    std::size_t group = 0;
    std::vector<std::size_t> cells{};
    double cost = 0;
  };
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] double cost_of(std::size_t cell) const;
  void divide(std::vector<Chunk> whole);
  [[nodiscard]] std::vector<std::vector<Prediction>> run(
      std::size_t requests, const std::function<void(const Chunk& chunk)>& on_chunk);

  const std::vector<MeasuredCell>& cells_;
  const std::vector<PredictionGroup>& groups_;
  TaskOptions options_;
  std::optional<SharedModels> models_;
  std::size_t workers_;          // number on all ranks
  std::vector<double> seconds_;  // by cell: processor time when it was last simulated; 0: never
  std::vector<Chunk> chunks_;    // tasks of the round, by index
  TaskSet set_;
};

}  // namespace cclgym
