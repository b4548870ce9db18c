// Checks of calls and configurations that the simulator shares with config_checks.cpp.
#pragma once

#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// True if the number of thread blocks that a GPU can run at once is limited.
[[nodiscard]] bool limits_blocks(const CostModel& model);

/// Throws UserError unless all blocks of a program, with `threads` threads each, can be resident at
/// once.
void require_resident(const ProgramOutline& program, const CostModel& model, int threads);

/// Request for the algorithm's program from the library.
[[nodiscard]] AlgorithmRequest request_of(const AlgorithmEntry& algorithm, const Call& call,
                                          const Config& config, const Fabric& fabric,
                                          const CostModel& model,
                                          const std::vector<std::vector<int>>& rings);

}  // namespace cclgym
