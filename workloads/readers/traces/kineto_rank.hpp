// One step of one rank, from its trace: the operations, and what they wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/readers/traces/kineto_events.hpp"

namespace cclgym {

/// An operation of the step, or the time in which the GPU waits for its host.
struct KinetoStepOp {
  std::int32_t op = -1;  ///< index into KinetoTrace::ops; -1: idle
  std::int64_t stream = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::int32_t> deps{};  ///< positions of earlier operations in the step
};

/// Number of the last step in which the host launched operations; nullopt without such steps.
[[nodiscard]] std::optional<std::int64_t> last_kineto_step(const KinetoTrace& trace);

/// True if the operation is communication: it has arguments of a call, or the name of a kernel of
/// NCCL or RCCL.
[[nodiscard]] bool is_communication(const KinetoTrace& trace, const KinetoOp& op);

/// Operations of a step (all if there is no number), in the order of their starts, with the
/// dependencies of read_kineto(). An operation belongs to the step in which its launch
/// (cuda_runtime) lies. Throws UserError located in the trace's file if the step does not exist or
/// has operations of several GPUs.
[[nodiscard]] std::vector<KinetoStepOp> kineto_step_ops(const KinetoTrace& trace,
                                                        std::optional<std::int64_t> step,
                                                        bool with_idle);

}  // namespace cclgym
