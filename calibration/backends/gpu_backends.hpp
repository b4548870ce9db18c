// The backends `cuda` and `nccl`: what their workers are asked for (docs/calibration-gpu.md).
#pragma once

#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "calibration/measure/sweep.hpp"

namespace cclgym {

/// Microbenchmarks on one GPU. `cells`: texts of cuda_cell_options(). Rows have device, driver,
/// cuda_runtime and sms in front. Throws UserError if this build is without CUDA.
[[nodiscard]] MeasurementBackend cuda_backend(const OptionTexts& cells);

/// NCCL's collectives. `cells`: texts of nccl_cell_options(); `worker`: of nccl_worker_options();
/// `launch`: what starts the worker, may be empty. Rows have system, gpu, ranks, nodes and
/// nccl_version in front. Throws UserError if this build is without CUDA.
[[nodiscard]] MeasurementBackend nccl_backend(const OptionTexts& cells, const OptionTexts& worker,
                                              const std::string& system,
                                              const std::vector<std::string>& launch);

}  // namespace cclgym
