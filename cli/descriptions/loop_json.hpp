// Plans and results of cclgym loop as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/loop/loop_plan.hpp"
#include "calibration/loop/loop_results.hpp"

namespace cclgym {

/// A list with one object per call: its collective, size and number of candidates, and the first
/// choice of each lane that has a fixed one.
[[nodiscard]] nlohmann::ordered_json loop_plan_json(const LoopPlan& plan);

/// Content of loop_text: comparisons (ratios of times with their 95 % intervals), detections and
/// agreement.
[[nodiscard]] nlohmann::ordered_json loop_results_json(const LoopRecord& record,
                                                       const LoopResults& results);

/// The lanes of a plan whose first choices are of interest: all but OpenMPI's default and those
/// that choose while the loop runs.
[[nodiscard]] std::vector<const LoopLane*> lanes_with_tables(const LoopPlan& plan);

}  // namespace cclgym
