// Program of one pipeline stage of a transformer's training step.
#pragma once

#include <cstdint>

#include "workloads/generators/transformer_job.hpp"

namespace cclgym {

/// The program of all ranks of a stage; names and streams are added to the graph.
[[nodiscard]] RankProgram stage_program(const TransformerJob& job, const PlanCommunicators& groups,
                                        std::int32_t stage, JobGraph& graph);

}  // namespace cclgym
