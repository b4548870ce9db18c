// Simulates measured cells of one fabric and collective, one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "calibration/fit/prediction.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// A fabric and the parameter set that its cells use by default.
struct PredictionSite {
  std::shared_ptr<const Fabric> fabric;
  ParameterSet set;
};

/// Keeps programs, the choices of NCCL and the first tiles of messages from cell to cell. They save
/// time only: predictions are the same in any order of the cells.
class CellSimulator {
 public:
  /// `site` must outlive this. Configurations are chosen under the cost model `choosing`, whatever
  /// the one of the simulation, because choices do not depend on fitted parameters.
  CellSimulator(const PredictionSite& site, const CostModel& choosing);

  /// Simulates under this cost model from now on.
  void use(const CostModel& model);
  /// `index` identifies the cell in later calls.
  [[nodiscard]] Prediction predict(std::size_t index, const MeasuredCell& cell);

 private:
  [[nodiscard]] Config config_of(const MeasuredCell& cell);
  [[nodiscard]] double time_s(const Call& call, const Config& config);
  [[nodiscard]] double simulated_s(const Call& call, const Config& config);

  // All fields of a call without a root and of a configuration.
  using TimeKey = std::tuple<CollectiveKind, std::uint64_t, std::string, Protocol, int, int, int,
                             std::uint64_t, int>;

  const PredictionSite& site_;
  CostModel choosing_;
  Simulator simulator_;
  std::map<std::string, std::unique_ptr<const Tuner>> tuners_;  // by release of NCCL
  std::map<std::size_t, Config> configs_;                       // by index of the cell
  std::map<std::pair<CollectiveKind, int>, std::shared_ptr<const ThreadBlockProgram>>
      chains_;  // by collective and channels
  // Under the present cost model: releases of NCCL often choose the same configuration.
  std::map<TimeKey, double> times_s_;
};

}  // namespace cclgym
