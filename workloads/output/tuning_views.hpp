// The configurations that a search found for the calls of a job.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/timing/job_tuning.hpp"

namespace cclgym {

/// Table of the calls with their configurations before and after.
[[nodiscard]] std::string tuning_text(const JobTuning& tuning);
/// The same as a list of objects, with times in seconds.
[[nodiscard]] nlohmann::ordered_json tuning_json(const JobTuning& tuning);

}  // namespace cclgym
