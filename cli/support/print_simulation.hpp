// Output of cclgym simulate.
#pragma once

#include <string>

#include "cost_models/intervals/time_intervals.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// An interval of the time that would be measured.
struct StatedInterval {
  FoundInterval found{};
  double coverage = 0.9;
};

/// Prints time with its interval, bandwidths, critical path and busiest links as text. `tuner`
/// chose the configuration; it is empty if the user did.
void print_simulation(const SimulationRecord& record, const Simulator& simulator,
                      const std::string& tuner, const StatedInterval& interval);
/// Prints all of this and more as one JSON object.
void print_simulation_json(const SimulationRecord& record, const Simulator& simulator,
                           const std::string& tuner, const StatedInterval& interval);

}  // namespace cclgym
