#include "workloads/timing/gpu_rates.hpp"

#include "core/error.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

GpuRates gpu_rates(const Fabric& fabric, const CostModel& model, const GpuEfficiency& efficiency) {
  const std::string name = fabric.gpu_model().empty() ? kAssumedGpu : fabric.gpu_model();
  const GpuModel* gpu = find_gpu_model(name);
  if (gpu == nullptr) throw UserError(unknown_gpu_model_message(name));
  return {.flops = gpu->peak_flops * efficiency.flops,
          .memory_Bps = gpu->memory_Bps * efficiency.memory,
          .sms = model.hockney ? 0 : model.max_thread_blocks};
}

}  // namespace cclgym
