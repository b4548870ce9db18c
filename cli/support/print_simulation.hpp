// Output of cclgym simulate.
#pragma once

#include <string>

#include "sim/simulator.hpp"

namespace cclgym {

/// Prints time, bandwidths, critical path and busiest links as text. `tuner` chose the
/// configuration; it is empty if the user did.
void print_simulation(const SimulationRecord& record, const Simulator& simulator,
                      const std::string& tuner);
/// Prints all of this and more as one JSON object.
void print_simulation_json(const SimulationRecord& record, const Simulator& simulator,
                           const std::string& tuner);

}  // namespace cclgym
