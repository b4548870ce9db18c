// Benchmarks and cells of the backend `cuda` on one GPU (docs/calibration-gpu.md).
#pragma once

#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"

namespace cclgym {

/// A benchmark and its quantity.
struct CudaBenchmark {
  std::string name;
  std::string measures;  ///< meaning of one sample
};
[[nodiscard]] const std::vector<CudaBenchmark>& cuda_benchmarks();

/// Options of the user: benchmarks, protocols, threads, blocks, sizes, chunks. The defaults differ
/// by benchmark.
[[nodiscard]] const std::vector<OptionSpec>& cuda_cell_options();

/// Data of one FIFO slot that NCCL uses for a protocol ("LL", "LL128", "Simple"), B.
[[nodiscard]] std::uint64_t default_chunk_bytes(const std::string& protocol);

/// The cells, with the columns benchmark, protocol (LL, LL128, Simple, none), flags (gpu: in the
/// GPU's memory; host: in pinned host memory; none), threads, blocks, bytes, chunk_bytes. A number
/// without meaning for a benchmark is 0. Throws UserError for a list that cannot be read, and for
/// sizes that are not multiples of 16 B.
[[nodiscard]] CellTable cuda_cells(const OptionTexts& texts = {});

}  // namespace cclgym
