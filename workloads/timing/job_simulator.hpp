// Simulation of a job: the dates of every operation of one step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/timing/job_lowering.hpp"
#include "workloads/timing/link_series.hpp"

namespace cclgym {

/// Settings of a job's simulation.
struct JobSettings {
  std::string engine = "flow";
  JobDetail detail = JobDetail::Messages;
  /// Simulates one rank for all that behave the same; only with JobDetail::Calls.
  bool fold = false;
  GpuEfficiency efficiency{};
  JobTuners tuners{};
  /// Intervals of the step for which the use of links is recorded; 0: it is not.
  int intervals = 0;
};

/// A simulated step.
struct JobRecord {
  double step_time_s = 0;  ///< until the last operation of the last rank is done
  LoweredJob lowered;
  std::vector<double> start_s;  ///< by LoweredJob::ops: its dependencies are done
  std::vector<double> end_s;    ///< by LoweredJob::ops
  LinkSeries series;            ///< use of links over time, if JobSettings::intervals > 0
  std::int64_t flows = 0;       ///< flows in the graph
  std::int64_t calls = 0;       ///< calls of the job, those of folded ranks included
};

/// Simulates one step of a job on the first ranks of a fabric, from an idle machine on. Sizes of
/// collectives are rounded up to valid ones. Throws UserError if the job is not consistent
/// (check_job), needs more ranks than the fabric has, or names tuners that have no choice for its
/// calls; SimulationStalled, with the operations that wait, if ranks wait for each other.
[[nodiscard]] JobRecord simulate_job(const JobGraph& job, std::shared_ptr<const Fabric> fabric,
                                     const CostModel& model, const JobSettings& settings);

/// "messages", "calls".
[[nodiscard]] std::string_view to_string(JobDetail detail);

}  // namespace cclgym
