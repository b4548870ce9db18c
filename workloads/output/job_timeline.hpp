// A simulated job as a Chrome trace (opens in Perfetto and chrome://tracing).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "topology_models/fabric.hpp"
#include "workloads/timing/job_breakdown.hpp"

namespace cclgym {

struct JobTimelineOptions {
  /// Maximum number of actors (ranks, or classes of ranks) that are drawn: those on the critical
  /// path first. `otherData` says how many were left out.
  std::size_t max_actors = 64;
};

/// Writes the trace as JSON, event by event: a process for the critical path; one with counters of
/// the use of links, if the record has a series; and one per actor with a track per stream. A call
/// for which a rank waits has a slice "wait" inside its own. Dates are in microseconds from the
/// beginning of the step. The simulator that made the record must still exist. Equal inputs give
/// equal bytes.
void write_job_timeline(std::ostream& out, const JobGraph& job, const JobRecord& record,
                        const JobBreakdown& breakdown, const Fabric& fabric,
                        const JobTimelineOptions& options = {});

/// Writes the trace to a file, completely or not at all. Throws UserError if it cannot be written.
void write_job_timeline_file(const std::string& path, const JobGraph& job, const JobRecord& record,
                             const JobBreakdown& breakdown, const Fabric& fabric,
                             const JobTimelineOptions& options = {});

}  // namespace cclgym
