// Estimates the cost-model parameters that a single GPU determines, from the backend `cuda`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/fit/uncertainty.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

/// One cell of the measurements (cuda_cells.hpp).
struct CudaRow {
  std::string benchmark;
  std::string protocol;
  std::string flags;
  int threads = 0;
  int blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  double time_s = 0;  ///< median
};

struct CudaMeasurements {
  std::string device;  ///< "NVIDIA H200"; empty: not stated
  std::string driver;
  std::string cuda_runtime;
  int sms = 0;  ///< 0: not stated
  std::vector<CudaRow> rows;
};

/// Reads a CSV with the columns benchmark, protocol, flags, threads, blocks, bytes, chunk_bytes and
/// time_us_median in any order, and optionally device, driver, cuda_runtime and sms. Ignores other
/// columns, rows without a time (refused or hung cells) and lines that start with #. Throws
/// UserError at file:line:column for a missing column, an invalid number, and rows of two devices.
[[nodiscard]] CudaMeasurements parse_cuda_measurements(std::string_view text,
                                                       const std::string& file);
[[nodiscard]] CudaMeasurements read_cuda_measurements(const std::string& path);

struct CudaEstimate {
  std::string name;      ///< name of a cost parameter, or of one of `CudaFit::others`
  double value = 0;      ///< SI units
  Interval interval{};   ///< 95 % confidence
  std::size_t rows = 0;  ///< number of rows used
  std::string how;
};

struct CudaFit {
  std::vector<CudaEstimate> parameters;
  /// Estimates that are no parameters of the cost model: "copy_knee_blocks", the number of thread
  /// blocks beyond which a copy gets no faster, and "copy_rate_all", B/s, the copy rate there.
  std::vector<CudaEstimate> others;
  std::vector<std::string> missing;  ///< parameters that the rows do not determine, with the reason

  /// Throws std::out_of_range if there is no estimate with that name.
  [[nodiscard]] const CudaEstimate& at(std::string_view name) const;
};

/// Fits straight lines, each through the rows of one benchmark:
///   kernel_launch       launch_first against blocks, at 0, less half of host_flag
///   step_latency        flag_step against bytes, at 0
///   thread_block_rate   pipe_copy against bytes: slope; converted to a wire rate by the start
///                       set's efficiency
///   reduce_rate         pipe_reduce against bytes: slope
///   half_rate_threads   copy_block, time per byte against 1 / threads: slope / intercept
///   local_copy_rate, local_reduce_rate
///                       the same line of copy_block, reduce_block at full_threads
///   max_thread_blocks   SMs
/// All use rows with full_threads threads of `start`, or the next number that was measured.
[[nodiscard]] CudaFit fit_cuda(const CudaMeasurements& measured, const CostModel& start);

/// The start set with the estimates filled in, each parameter with its source (value_source.hpp).
[[nodiscard]] std::string cuda_set_yaml(const CudaFit& fit, const CudaMeasurements& measured,
                                        const ParameterSet& start, const std::string& name);

/// The estimates as text for the terminal.
[[nodiscard]] std::string cuda_fit_text(const CudaFit& fit);

}  // namespace cclgym
