// A job whose calls on one communicator are chosen, and the time of its step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "env/tuning/job/workload_job.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/fast/call_timer.hpp"
#include "workloads/timing/job_simulator.hpp"

namespace cclgym {

/// A simulated step of a job.
struct JobStep {
  double time_s = 0;
  double exposed_s = 0;  ///< mean over the ranks: communication without computation, s
  friend bool operator==(const JobStep&, const JobStep&) = default;
};

/// A job on a machine: the distinct calls of one communicator, in the order of the job, and the
/// time of the job's step by their configurations. Calls of other communicators are decided by
/// their own tuners. Steps are simulated call by call, with ranks that behave the same folded
/// (docs/collective-tuning.md, section Jobs).
class TuningJob {
 public:
  /// Number of steps that are remembered; then all are forgotten.
  static constexpr std::size_t kMostSteps = std::size_t{1} << 16;

  /// Throws UserError at the workload if the job does not fit on the fabric, or if the groups of
  /// the communicator are not spread over nodes in the same pattern.
  TuningJob(WorkloadJob workload, std::shared_ptr<const Fabric> fabric, const CostModel& model);

  /// The fabric as the communicator's first group sees it.
  [[nodiscard]] const std::shared_ptr<const Fabric>& machine() const { return machine_; }
  [[nodiscard]] const WorkloadJob& workload() const { return workload_; }
  /// Calls without a context until set_defaults.
  [[nodiscard]] const std::vector<WorkloadCall>& calls() const { return calls_; }

  /// The same job for another library of algorithms, without remembered steps.
  [[nodiscard]] std::shared_ptr<TuningJob> on(std::shared_ptr<const CallSite> site) const;
  /// Sets the site whose library configurations refer to and the default of each call, simulates
  /// the default step, and derives the contexts of the calls from it. Throws UserError at the
  /// workload if a tuner of another communicator has no choice.
  void set_defaults(std::shared_ptr<const CallSite> site, std::vector<PlainConfig> defaults);
  [[nodiscard]] const std::vector<PlainConfig>& defaults() const { return defaults_; }
  [[nodiscard]] const JobStep& default_step() const { return default_step_; }

  /// Step with one configuration per call. The same choices give the same bits. Thread-safe;
  /// a step that was simulated before is not simulated again. Throws UserError at the workload if a
  /// configuration cannot carry out its call.
  [[nodiscard]] JobStep step(const std::vector<PlainConfig>& choices) const;
  /// Number of steps that were simulated.
  [[nodiscard]] std::size_t simulations() const;

 private:
  struct ChoicesHash {
    std::size_t operator()(const std::vector<PlainConfig>& choices) const;
  };

  void check_groups() const;
  void find_calls();
  void find_contexts(const JobRecord& record);
  [[nodiscard]] std::unique_ptr<JobSimulator> take() const;
  [[nodiscard]] JobRecord simulate(JobSimulator& simulator,
                                   const std::vector<PlainConfig>& choices) const;

  WorkloadJob workload_;
  std::shared_ptr<const Fabric> fabric_;
  CostModel model_;
  std::shared_ptr<const Fabric> machine_;
  std::vector<WorkloadCall> calls_;
  std::vector<std::vector<NamedCall>> named_;  ///< by call: its names in the job
  std::vector<std::int32_t> members_;  ///< one rank for each program that calls the communicator
  std::shared_ptr<const CallSite> site_;
  std::vector<PlainConfig> defaults_;
  JobStep default_step_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<JobSimulator>> idle_;
  mutable std::unordered_map<std::vector<PlainConfig>, JobStep, ChoicesHash> steps_;
  mutable std::size_t simulations_ = 0;
};

}  // namespace cclgym
