// Search for the configurations of a job's calls that make its step fastest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/timing/job_breakdown.hpp"

namespace cclgym {

struct JobTuningOptions {
  /// Programs to choose from; those that lack a call's collective are left out.
  std::vector<std::string> algorithms{"ring", "tree", "nvls", "nvls-tree"};
  std::vector<int> channels{1, 2, 4, 8, 16, 24, 32};
  /// Calls whose time is a smaller share of the step keep their configuration.
  double min_share = 0.002;
  /// Configurations of a call that are tried in the step: those that are fastest alone.
  int tried = 3;
  /// Called before each call that is tuned, with its number and how many there are. May be empty.
  std::function<void(std::size_t, std::size_t)> on_progress{};
};

/// A call with the configuration that was found for it.
struct TunedCall {
  NamedCall call;
  double share = 0;  ///< part of the step before, in progress on the busiest rank
  Config before{};
  double before_s = 0;  ///< time alone with it, s
  Config chosen{};
  double chosen_s = 0;      ///< time alone with it, s
  double step_after_s = 0;  ///< step time once this and all calls above are chosen, s
};

struct JobTuning {
  double before_s = 0;  ///< step time with the given tuners
  /// Step time if every tuned call has the configuration that is fastest alone: what a sweep of
  /// single calls would choose.
  double fastest_alone_s = 0;
  double fastest_alone_exposed_s = 0;  ///< its exposed communication, mean over ranks
  double after_s = 0;                  ///< step time with the choices found
  std::vector<TunedCall> calls;        ///< longest first
  JobTuners tuners;                    ///< the given ones with the choices found
  std::int64_t steps = 0;              ///< steps simulated
};

/// Improves the calls of a job one after the other, the one that takes longest first: tries in the
/// step the configurations that are fastest alone, and keeps the best. A choice that is fastest
/// alone may lose in the step, because its thread blocks take SMs from computation, or its messages
/// links from other calls. Deterministic. Throws as JobSimulator::run does.
[[nodiscard]] JobTuning tune_job(JobSimulator& simulator, const JobTuners& tuners,
                                 const JobTuningOptions& options = {});

}  // namespace cclgym
