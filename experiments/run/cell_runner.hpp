// One cell of an experiment, simulated.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// Simulates cells of one experiment, one after another. Keeps the simulator, with the programs it
/// has compiled, of the fabric it worked on last: cells stand in fabric order, and of engine
/// simgrid only one may be alive in a process. The experiment must outlive it.
class CellRunner {
 public:
  explicit CellRunner(const Experiment& experiment);

  /// Simulates a cell as often as the experiment says (once if its cost model draws nothing at
  /// random). Throws UserError or SimulationStalled, the message beginning with the cell's key.
  [[nodiscard]] ResultRow run(std::size_t cell);
  /// The first repetition of a cell with all its dates, for a timeline.
  [[nodiscard]] SimulationRecord record(std::size_t cell);

 private:
  Simulator& simulator(std::size_t fabric);

  const Experiment& experiment_;
  std::string hash_;
  std::size_t fabric_ = 0;
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace cclgym
