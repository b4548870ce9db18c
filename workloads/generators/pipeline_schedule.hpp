// Order of the forward and backward passes of one pipeline stage.
#pragma once

#include <cstdint>
#include <vector>

namespace cclgym {

enum class PipelineOrder : std::uint8_t {
  OneForwardOneBackward,  ///< 1F1B; with several chunks per stage, interleaved
  AllForwardAllBackward,  ///< GPipe (Huang et al. 2019)
};

/// One pass of a chunk of layers over a micro-batch.
struct PipelinePass {
  bool forward = true;
  std::int32_t chunk = 0;  ///< chunk of the stage: 0 to chunks - 1
  std::int32_t micro_batch = 0;

  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

/// Passes of a stage in order. 1F1B and its interleaved form are those of Megatron-LM
/// (megatron/core/pipeline_parallel/schedules.py; Narayanan et al. 2021, section 2.2). With several
/// chunks, micro_batches must be a multiple of stages, and the order must be 1F1B.
[[nodiscard]] std::vector<PipelinePass> pipeline_passes(PipelineOrder order, std::int32_t stage,
                                                        std::int32_t stages, std::int32_t chunks,
                                                        std::int32_t micro_batches);

}  // namespace cclgym
