// The backends `cuda` and `nccl`: command and cells of their workers (docs/calibration-gpu.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "calibration/measure/sweep.hpp"

namespace cclgym {

/// Microbenchmarks on one GPU. `cells`: texts of cuda_cell_options(). Rows start with device,
/// driver, cuda_runtime and sms. Throws UserError if this build has no CUDA.
[[nodiscard]] MeasurementBackend cuda_backend(const OptionTexts& cells);

/// NCCL's collectives. `cells`: texts of nccl_cell_options(); `worker`: texts of
/// nccl_worker_options(); `launch`: the worker's launcher, may be empty. Rows start with system,
/// gpu, ranks, nodes and nccl_version. Throws UserError if this build has no CUDA.
[[nodiscard]] MeasurementBackend nccl_backend(const OptionTexts& cells, const OptionTexts& worker,
                                              const std::string& system,
                                              const std::vector<std::string>& launch);

/// Columns that are equal in all rows of a backend nccl, and their values: system, gpu, ranks,
/// nodes and nccl_version.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> nccl_fixed_columns(
    const TextMap& environment, const std::string& system);

}  // namespace cclgym
