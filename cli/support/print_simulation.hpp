// What cclgym simulate says of a call.
#pragma once

#include <string>

#include "sim/simulator.hpp"

namespace cclgym {

/// Time, bandwidths, critical path and busiest links, for people. `tuner`: what chose the
/// configuration; empty: the user.
void print_simulation(const SimulationRecord& record, const Simulator& simulator,
                      const std::string& tuner);
/// The same and more as one JSON object.
void print_simulation_json(const SimulationRecord& record, const Simulator& simulator,
                           const std::string& tuner);

}  // namespace cclgym
