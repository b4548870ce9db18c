// Option --tune of cclgym workload.
#pragma once

#include <string>
#include <vector>

#include "workloads/output/job_text.hpp"
#include "workloads/timing/job_tuning.hpp"

namespace cclgym {

/// Tunes the simulator's job among these programs (none: NCCL's), with a bar or lines of progress
/// on standard error.
[[nodiscard]] JobTuning tune_with_progress(JobSimulator& simulator,
                                           const std::vector<std::string>& programs);
/// Adds the rows "fastest alone" and "tuned" to a comparison.
void add_tuned_rows(std::vector<TunerRow>& rows, const JobTuning& tuning, JobSimulator& simulator);

}  // namespace cclgym
