// A simulated job as text for the terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "workloads/timing/job_breakdown.hpp"

namespace cclgym {

/// Step of a job with the choices of one tuner.
struct TunerRow {
  std::string name;
  double step_time_s;
  double exposed_s;  ///< exposed communication, mean over ranks (RankTime)
};

struct JobTextOptions {
  std::size_t max_calls = 20;  ///< rows of the table of calls
  std::size_t max_links = 8;
};

/// Maximum number of characters of a line of job_text and tuner_text.
inline constexpr std::size_t kJobTextWidth = 110;

/// Tables: where the time goes, calls, the critical path, and the busiest links if the record has a
/// series. Calls and links beyond the maximum are counted in a last line.
[[nodiscard]] std::string job_text(const JobGraph& job, const JobRecord& record,
                                   const JobBreakdown& breakdown, const Fabric& fabric,
                                   const JobTextOptions& options = {});

/// Assumptions of the step that its numbers depend on, as sentences: the rates of a GPU that the
/// fabric does not name, if computation is a roofline. Often none.
[[nodiscard]] std::vector<std::string> job_notes(const JobGraph& job, const Fabric& fabric);

/// A table that compares tuners; speedups are relative to the first. Empty without rows.
[[nodiscard]] std::string tuner_text(std::span<const TunerRow> tuners);

/// Index of the actor with the most exposed communication; the first of them if several have it.
[[nodiscard]] std::size_t worst_actor(const JobBreakdown& breakdown);

}  // namespace cclgym
