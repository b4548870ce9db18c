// Simulates measured cells any number of times, each time with a different cost model.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/fit/prediction.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "core/tasks/run_tasks.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

class PredictionRounds;
struct PredictionGroup;
struct PredictionSite;

/// Called now and then with the number of cells done.
using PredictionProgress = std::function<void(std::size_t done)>;

/// A cost model and the cells to simulate under it.
struct PredictionRequest {
  CostModel model;
  std::vector<bool> wanted{};  ///< by cell; empty: all
};

/// Models of all requests on ranks.
struct SharedModels {
  CostModel base;      ///< others differ from it in numeric parameters only
  CostModel choosing;  ///< model of the first request, under which configurations are chosen
};

/// Simulates cells with engine flow in several threads, or on the ranks of an MPI run. Fabrics,
/// programs and NCCL's choices are made once and kept, because choices do not depend on the fitted
/// parameters.
class Predictor {
 public:
  /// Throws UserError if a fabric cannot be built.
  Predictor(std::vector<MeasuredCell> cells, std::size_t threads);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// Shares the cells as tasks (share_tasks) and, if `options` have a place, simulates them there
  /// from now on. Without `models`, each cell has its own model.
  void share(const TaskOptions& options, std::optional<SharedModels> models);

  [[nodiscard]] const std::vector<MeasuredCell>& cells() const { return cells_; }
  /// The set of a cell, by its index.
  [[nodiscard]] const ParameterSet& set_of(std::size_t cell) const;
  /// The fabric of a cell, by its index.
  [[nodiscard]] const Fabric& fabric_of(std::size_t cell) const;
  /// The warnings of cost_model_warning for the cells' cost models, each text once.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Predictions in the order of the cells for each request; cells that are not wanted stay
  /// Prediction{}. Configurations are chosen under the first model of all calls. Independent of the
  /// number of threads and ranks. `on_answer`, which may be empty, is called with the number of
  /// requests that are done.
  [[nodiscard]] std::vector<std::vector<Prediction>> predict(
      std::span<const PredictionRequest> requests, const PredictionProgress& on_answer = {});
  /// Predictions with this cost model.
  [[nodiscard]] std::vector<Prediction> predict(const CostModel& model,
                                                const std::vector<bool>& wanted = {});
  /// Predictions with each cell's own cost model.
  [[nodiscard]] std::vector<Prediction> predict(const PredictionProgress& progress = {});

 private:
  struct Part;
  void make_parts();
  std::vector<Prediction> run(const CostModel* model, const std::vector<bool>& wanted,
                              const PredictionProgress& progress);
  void run_part(Part& part, const CostModel* model, const std::vector<bool>& wanted,
                std::vector<Prediction>& predictions, const std::function<void()>& on_cell);

  std::vector<MeasuredCell> cells_;
  std::size_t threads_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<PredictionSite>> sites_;
  std::vector<const PredictionSite*> site_of_;  // by cell
  std::vector<PredictionGroup> groups_;
  std::vector<std::unique_ptr<Part>> parts_;  // divided among threads
  std::optional<CostModel> choosing_;         // the first model
  std::unique_ptr<PredictionRounds> rounds_;  // null without ranks
};

}  // namespace cclgym
