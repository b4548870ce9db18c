// A simulated call as a Chrome trace (opens in Perfetto and chrome://tracing).
#pragma once

#include <iosfwd>
#include <string>

#include "sim/simulator.hpp"

namespace cclgym {

/// Writes the trace as JSON: one process a rank with a track for its launch and each of its thread
/// blocks, one process for the links with a track each (more where messages overlap on a link),
/// arrows from sends to receives, and the critical path as a process of its own. Dates in
/// microseconds from the call.
void write_timeline(std::ostream& out, const SimulationRecord& record, const Fabric& fabric);

/// The same into a file, written whole or not at all. Throws UserError if it cannot be written.
void write_timeline_file(const std::string& path, const SimulationRecord& record,
                         const Fabric& fabric);

}  // namespace cclgym
