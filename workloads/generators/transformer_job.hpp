// One training step of a transformer with tensor, sequence, pipeline, data and expert parallelism.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/generators/parallel_plan.hpp"
#include "workloads/generators/pipeline_schedule.hpp"
#include "workloads/generators/transformer_models.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Framework whose rules data parallelism follows.
enum class DataParallelism : std::uint8_t { Megatron, Ddp, DeepSpeed, Fsdp };

enum class Recomputation : std::uint8_t {
  None,
  Selective,  ///< attention scores (Korthikanti et al. 2022)
  Full,       ///< the forward pass of every layer, with its calls
};

struct TransformerJob {
  TransformerModel model;
  ParallelPlan plan;
  bool sequence_parallel = false;  ///< AllGather and ReduceScatter instead of AllReduce
  bool tp_overlap = true;          ///< gradients of weights hide calls of the backward pass
  std::int64_t micro_batch = 1;    ///< sequences
  std::int64_t global_batch = 1;   ///< sequences of all ranks
  PipelineOrder order = PipelineOrder::OneForwardOneBackward;
  std::int64_t virtual_stages = 1;  ///< chunks of layers per stage
  bool overlap_p2p = false;         ///< messages of the pipeline do not hold up computation
  DataParallelism data_parallel = DataParallelism::Megatron;
  std::int64_t zero = 0;           ///< stage of ZeRO: 0 to 3
  bool overlap_gradients = true;   ///< reduce gradients during the last backward pass
  std::uint64_t bucket_bytes = 0;  ///< bucket of gradients; 0: default of the framework
  Recomputation recomputation = Recomputation::None;
  std::uint64_t element_bytes = 2;  ///< size of parameters and activations
  std::uint64_t gradient_bytes =
      0;  ///< size of reduced gradients; 0: 4 for Megatron, otherwise element_bytes

  [[nodiscard]] std::int64_t micro_batches() const {
    return global_batch / (plan.dp * micro_batch);
  }
  /// Tokens of a micro-batch.
  [[nodiscard]] std::uint64_t tokens() const {
    return static_cast<std::uint64_t>(micro_batch) * model.sequence;
  }
  [[nodiscard]] std::uint64_t bytes_per_gradient() const {
    if (gradient_bytes > 0) return gradient_bytes;
    return data_parallel == DataParallelism::Megatron ? 4 : element_bytes;
  }
  /// True if parameters are gathered layer by layer.
  [[nodiscard]] bool sharded() const {
    return plan.dp > 1 && (zero == 3 || (data_parallel == DataParallelism::Fsdp && zero == 2));
  }
};

/// A setting that does not fit the others.
struct JobProblem {
  std::string key;  ///< YAML key of the setting
  std::string message;
};
/// The first problem of a job; nullopt: it can be generated.
[[nodiscard]] std::optional<JobProblem> find_problem(const TransformerJob& job);

/// Upper bound of the number of operations in all programs of a job; at most kMaxJobOps unless
/// find_problem refuses it.
[[nodiscard]] double max_operations(const TransformerJob& job);

/// Bounds of generated jobs.
inline constexpr std::int64_t kMaxJobRanks = 1'000'000;
inline constexpr std::int64_t kMaxJobOps = 10'000'000;

/// The graph of one step; ranks of a pipeline stage share a program. Throws UserError if
/// find_problem does. Communicators: those of add_plan. Streams: "compute", "tp", "ep", "dp",
/// "embd", and one for each kind of pipeline message ("pp send forward", …).
[[nodiscard]] JobGraph make_transformer_job(const TransformerJob& job);

}  // namespace cclgym
