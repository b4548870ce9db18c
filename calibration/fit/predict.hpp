// Simulates measured cells any number of times, each time with a different cost model.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// The simulator's answer for a cell.
struct Prediction {
  double time_s = 0;  ///< 0: it could not be simulated
  Config config;
  std::string cost_model;  ///< CostModel::label() of the parameter set
  std::string refusal;     ///< reason why it could not be simulated; empty if it was
};

/// Called now and then with the number of cells done.
using PredictionProgress = std::function<void(std::size_t done)>;

/// Simulates cells with engine flow in several threads. Fabrics, programs and NCCL's choices are
/// made once and kept, because choices do not depend on the fitted parameters.
class Predictor {
 public:
  /// Throws UserError if a fabric cannot be built.
  Predictor(std::vector<MeasuredCell> cells, std::size_t threads);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  [[nodiscard]] const std::vector<MeasuredCell>& cells() const { return cells_; }
  /// The set of a cell, by its index.
  [[nodiscard]] const ParameterSet& set_of(std::size_t cell) const;
  /// The warnings of cost_model_warning for the cells' cost models, each text once.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Predictions in the order of the cells, all with this cost model. If `wanted` is not empty, it
  /// selects the cells (others stay Prediction{}). Independent of the number of threads.
  [[nodiscard]] std::vector<Prediction> predict(const CostModel& model,
                                                const std::vector<bool>& wanted = {},
                                                const PredictionProgress& progress = {});
  /// Predictions with each cell's own cost model.
  [[nodiscard]] std::vector<Prediction> predict(const PredictionProgress& progress = {});

 private:
  struct Site;
  struct Task;
  std::vector<Prediction> run(const CostModel* model, const std::vector<bool>& wanted,
                              const PredictionProgress& progress);

  std::vector<MeasuredCell> cells_;
  std::size_t threads_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<const Site*> site_of_;  // by cell
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace cclgym
