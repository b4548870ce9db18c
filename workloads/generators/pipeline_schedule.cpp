#include "workloads/generators/pipeline_schedule.hpp"

#include <algorithm>

#include "core/index.hpp"

namespace cclgym {

std::vector<PipelinePass> pipeline_passes(PipelineOrder order, std::int32_t stage,
                                          std::int32_t stages, std::int32_t chunks,
                                          std::int32_t micro_batches) {
  const std::int32_t count = micro_batches * chunks;
  // The k-th forward or backward pass. With several chunks, `stages` micro-batches pass through one
  // chunk before the next chunk has its turn.
  const auto pass = [&](bool forward, std::int32_t k) {
    const std::int32_t turn = stages * chunks;
    if (chunks == 1) return PipelinePass{forward, 0, k};
    const std::int32_t chunk = k % turn / stages;
    return PipelinePass{forward, forward ? chunk : chunks - 1 - chunk,
                        k / turn * stages + k % stages};
  };
  std::int32_t warm_up = stages - 1 - stage;
  if (chunks > 1) warm_up = 2 * (stages - 1 - stage) + (chunks - 1) * stages;
  if (order == PipelineOrder::AllForwardAllBackward) warm_up = count;
  warm_up = std::min(warm_up, count);
  std::vector<PipelinePass> passes;
  passes.reserve(2 * at(count));
  for (std::int32_t k = 0; k < count; ++k) {
    passes.push_back(pass(true, k));
    if (k >= warm_up) passes.push_back(pass(false, k - warm_up));
  }
  for (std::int32_t k = count - warm_up; k < count; ++k) passes.push_back(pass(false, k));
  return passes;
}

}  // namespace cclgym
