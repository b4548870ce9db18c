// Rates at which a GPU computes and uses its memory, for the roofline of a job's computation.
#pragma once

#include <cstdint>

#include "cost_models/cost_model.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Fractions of the data sheet's peaks that kernels reach, 0 to 1.
struct GpuEfficiency {
  /// An assumption: training of GPT models reaches 0.44 to 0.52 of an A100's peak end to end,
  /// communication and pipeline bubbles included (Narayanan et al., "Efficient large-scale language
  /// model training on GPU clusters using Megatron-LM", 2021, table 1), so their kernels reach
  /// more.
  double flops = 0.55;
  /// An assumption: kernels that stream through memory are commonly measured at 0.8 to 0.9.
  double memory = 0.85;
};

struct GpuRates {
  double flops = 0;       ///< matrix math in half precision, FLOP/s
  double memory_Bps = 0;  ///< B/s, reads and writes together
  /// SMs, among which thread blocks of collectives and computation are divided; 0: not modelled.
  std::int32_t sms = 0;
};

/// Model that is assumed for a fabric that does not name its GPUs.
inline constexpr const char* kAssumedGpu = "A100";

/// Rates of the fabric's GPUs. The number of SMs is the cost model's max_thread_blocks.
[[nodiscard]] GpuRates gpu_rates(const Fabric& fabric, const CostModel& model,
                                 const GpuEfficiency& efficiency);

}  // namespace cclgym
