// cclgym evaluate --dry-run: what would be evaluated, and about how long it would take.
#pragma once

#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "agents/tasks/evaluation_tasks.hpp"

namespace cclgym {

/// Prints the number of parts, of policies and of runs, and an estimate of the time: each policy
/// makes a few calls here with the first seed. The estimate takes their mean time per call for
/// every call; preparations, which do not grow with the calls, are counted as often, so it is high
/// rather than low. A workload that ends by itself may also have fewer calls. `json`: one JSON
/// value instead of text.
void print_planned_evaluation(const std::vector<EvaluationPlace>& places,
                              const EvaluationOptions& options, const std::string& folder,
                              bool json);

}  // namespace cclgym
