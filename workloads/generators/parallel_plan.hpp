// Ranks and process groups of a job with tensor, data, expert and pipeline parallelism.
#pragma once

#include <cstdint>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Numbers of ranks by parallelism. Ranks are numbered as in Megatron-LM's default order
/// (megatron/core/parallel_state.py, "tp-cp-ep-dp-pp"): tp is fastest, then dp, of which ep is the
/// faster part, then pp.
struct ParallelPlan {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t pp = 1;
  std::int64_t ep = 1;  ///< divides dp

  [[nodiscard]] std::int64_t ranks() const { return tp * dp * pp; }
  [[nodiscard]] std::int32_t rank(std::int64_t t, std::int64_t d, std::int64_t p) const {
    return static_cast<std::int32_t>((p * dp + d) * tp + t);
  }
  [[nodiscard]] std::int64_t stage_of(std::int64_t rank) const { return rank / (tp * dp); }
};

/// Indices of the communicators; -1: there is none, because its groups would have one rank.
struct PlanCommunicators {
  std::int32_t tp = -1;
  std::int32_t dp = -1;
  std::int32_t pp = -1;
  std::int32_t ep = -1;
  /// Ranks with the same experts ("edp"): those of dp with the same index in ep.
  std::int32_t edp = -1;
  /// First and last stage, which share the embedding ("embd").
  std::int32_t embd = -1;
};

/// Adds the ranks and their process groups to an empty job. The index of a rank in its group of pp
/// is its stage, in ep its index modulo ep.
PlanCommunicators add_plan(JobGraph& job, const ParallelPlan& plan, bool shared_embedding);

}  // namespace cclgym
