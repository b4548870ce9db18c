// Option --tune of cclgym workload.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/output/job_text.hpp"
#include "workloads/timing/job_tuning.hpp"

namespace cclgym {

/// Tunes the simulator's job, with a bar or lines of progress on standard error.
[[nodiscard]] JobTuning tune_with_progress(JobSimulator& simulator);
/// Adds the rows "fastest alone" and "tuned" to a comparison.
void add_tuned_rows(std::vector<TunerRow>& rows, const JobTuning& tuning, JobSimulator& simulator);
/// Table of the calls with their configurations before and after.
[[nodiscard]] std::string tuning_text(const JobTuning& tuning);
[[nodiscard]] nlohmann::ordered_json tuning_json(const JobTuning& tuning);

}  // namespace cclgym
