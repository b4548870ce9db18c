#include "cli/workloads/workload_tuning.hpp"

#include <iostream>
#include <optional>
#include <unistd.h>

#include "core/progress.hpp"

namespace cclgym {

JobTuning tune_with_progress(JobSimulator& simulator, const std::vector<std::string>& programs) {
  JobTuningOptions options;
  for (const std::string& name : programs) (void)AlgorithmLibrary::shipped().at(name);
  if (!programs.empty()) options.algorithms = programs;
  std::optional<Progress> progress;
  options.on_progress = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace(std::cerr, isatty(STDERR_FILENO) != 0, total, 0);
    progress->update(done);
  };
  JobTuning tuning = tune_job(simulator, simulator.settings().tuners, options);
  if (progress) {
    progress->update(tuning.calls.size());
    progress->leave_line();
  }
  return tuning;
}

void add_tuned_rows(std::vector<TunerRow>& rows, const JobTuning& tuning, JobSimulator& simulator) {
  rows.push_back({.name = "each call fastest alone",
                  .step_time_s = tuning.fastest_alone_s,
                  .exposed_s = tuning.fastest_alone_exposed_s});
  const JobRecord record = simulator.run(tuning.tuners);
  rows.push_back({.name = "tuned in the step",
                  .step_time_s = record.step_time_s,
                  .exposed_s = break_down(simulator.job(), record).mean.exposed_s});
}

}  // namespace cclgym
