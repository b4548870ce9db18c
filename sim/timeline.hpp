// A simulated call as a Chrome trace (opens in Perfetto and chrome://tracing).
#pragma once

#include <iosfwd>
#include <string>

#include "sim/simulator.hpp"

namespace cclgym {

/// Writes the trace as JSON: one process per rank with a track for its launch and for each of its
/// thread blocks, one process for the links with a track for each (more if messages overlap on a
/// link), arrows from sends to receives, and a process for the critical path. Dates are in
/// microseconds from the call.
void write_timeline(std::ostream& out, const SimulationRecord& record, const Fabric& fabric);

/// Writes the trace to a file, completely or not at all. Throws UserError if it cannot be written.
void write_timeline_file(const std::string& path, const SimulationRecord& record,
                         const Fabric& fabric);

}  // namespace cclgym
