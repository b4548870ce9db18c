// Measured cells, simulated: as often as wanted, each time under another cost model.
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

/// What the simulator says to a cell.
struct Prediction {
  double time_s = 0;  ///< 0: it could not be simulated
  Config config;
  std::string cost_model;  ///< CostModel::label() of the parameter set
  std::string refusal;     ///< why not; empty: it could
};

/// Called now and then with the number of cells that are done.
using PredictionProgress = std::function<void(std::size_t done)>;

/// Simulates cells with engine flow in threads. Fabrics, programs and NCCL's choices are made once
/// and kept: choices do not depend on the parameters that are fitted.
class Predictor {
 public:
  /// Throws UserError if a fabric cannot be built.
  Predictor(std::vector<MeasuredCell> cells, std::size_t threads);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  [[nodiscard]] const std::vector<MeasuredCell>& cells() const { return cells_; }
  /// The set that a cell (by its place) names.
  [[nodiscard]] const ParameterSet& set_of(std::size_t cell) const;
  /// The warnings of cost_model_warning for the cost models that cells name, each text once.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// In the order of the cells, all under this cost model. `wanted`, if not empty, says which cells
  /// (others stay Prediction{}). The same for any number of threads.
  [[nodiscard]] std::vector<Prediction> predict(const CostModel& model,
                                                const std::vector<bool>& wanted = {},
                                                const PredictionProgress& progress = {});
  /// Each cell under the cost model that it names.
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
