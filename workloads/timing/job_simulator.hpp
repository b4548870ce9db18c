// Simulation of a job: the dates of every operation of one step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/timing/call_flows.hpp"
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
  /// Is told of each call that is going to be simulated alone (JobDetail::Calls); may be empty.
  std::function<void(const ConfiguredCall&)> on_call{};
};

/// A simulated step.
struct JobRecord {
  double step_time_s = 0;             ///< until the last operation of the last rank is done
  std::shared_ptr<GroupViews> views;  ///< keeps LoweredCall::planned alive
  LoweredJob lowered;
  std::vector<double> start_s;  ///< by LoweredJob::ops: its dependencies are done
  std::vector<double> end_s;    ///< by LoweredJob::ops
  LinkSeries series;            ///< use of links over time, if JobSettings::intervals > 0
  std::int64_t flows = 0;       ///< flows in the graph
  std::int64_t calls = 0;       ///< calls of the job, those of folded ranks included
};

/// Simulates steps of one job on the first ranks of a fabric, each from an idle machine on. Keeps
/// compiled programs and the times of single calls from run to run, so that many tuners can be
/// compared. Sizes of collectives are rounded up to valid ones. Not thread-safe.
class JobSimulator {
 public:
  /// The job must outlive the simulator. Throws UserError if the job is not consistent (check_job)
  /// or needs more ranks than the fabric has, or if the engine cannot simulate this detail.
  JobSimulator(const JobGraph& job, std::shared_ptr<const Fabric> fabric, const CostModel& model,
               const JobSettings& settings);

  /// Simulates a step with these tuners instead of those of the settings. Throws UserError if they
  /// have no choice for a call; SimulationStalled, with the operations that wait, if ranks wait for
  /// each other.
  [[nodiscard]] JobRecord run(const JobTuners& tuners);
  [[nodiscard]] JobRecord run() { return run(settings_.tuners); }
  [[nodiscard]] const JobGraph& job() const { return job_; }
  [[nodiscard]] const JobSettings& settings() const { return settings_; }
  [[nodiscard]] GroupViews& views() { return *views_; }
  [[nodiscard]] CallFlows& flows() { return flows_; }

 private:
  const JobGraph& job_;
  JobSettings settings_;
  GpuRates rates_;
  std::shared_ptr<GroupViews> views_;
  CallFlows flows_{*views_};
  std::unique_ptr<Engine> engine_;
};

/// Simulates one step. Throws as JobSimulator does.
[[nodiscard]] JobRecord simulate_job(const JobGraph& job, std::shared_ptr<const Fabric> fabric,
                                     const CostModel& model, const JobSettings& settings);

/// Number of calls of all ranks: a collective counts once per group, a message once.
[[nodiscard]] std::int64_t count_calls(const JobGraph& job);

/// "messages", "calls".
[[nodiscard]] std::string_view to_string(JobDetail detail);

}  // namespace cclgym
