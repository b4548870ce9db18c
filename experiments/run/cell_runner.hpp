// Simulation of single cells of an experiment.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// Simulates cells of one experiment, one after another. Keeps the simulator of the last fabric
/// with the programs that it has compiled: cells are in fabric order, and engine simgrid allows
/// only one simulator per process. The experiment must outlive the runner.
class CellRunner {
 public:
  explicit CellRunner(const Experiment& experiment);

  /// Simulates a cell with the experiment's number of repetitions (once if nothing in its cost
  /// model is random). Throws UserError or SimulationStalled, with the cell's key at the start of
  /// the message.
  [[nodiscard]] ResultRow run(std::size_t cell);
  /// Record of the cell's first repetition, with all its dates, for a timeline.
  [[nodiscard]] SimulationRecord record(std::size_t cell);

 private:
  Simulator& simulator(std::size_t fabric);

  const Experiment& experiment_;
  std::string hash_;
  std::size_t fabric_ = 0;
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace cclgym
