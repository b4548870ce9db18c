// Cost-model parameters from the measurements of the backend `cuda`: those that one GPU can tell.
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
  std::string device;  ///< "NVIDIA H200"; empty: not said
  std::string driver;
  std::string cuda_runtime;
  int sms = 0;  ///< 0: not said
  std::vector<CudaRow> rows;
};

/// Reads a CSV with the columns benchmark, protocol, flags, threads, blocks, bytes, chunk_bytes and
/// time_us_median in any order; device, driver, cuda_runtime and sms may be there; others are
/// passed over, and so are rows without a time (refused or hung cells) and lines with #. Throws
/// UserError at file:line:column for a column that is missing, a number that is none, and rows of
/// two devices.
[[nodiscard]] CudaMeasurements parse_cuda_measurements(std::string_view text,
                                                       const std::string& file);
[[nodiscard]] CudaMeasurements read_cuda_measurements(const std::string& path);

/// What was estimated.
struct CudaEstimate {
  std::string name;      ///< of cost_parameters, or one of `CudaFit::others`
  double value = 0;      ///< SI units
  Interval interval{};   ///< 95 %
  std::size_t rows = 0;  ///< that it is from
  std::string how;
};

struct CudaFit {
  std::vector<CudaEstimate> parameters;
  /// What no parameter of the cost model says: "copy_knee_blocks", from which more thread blocks
  /// copy no faster, and "copy_rate_all", B/s, at which they copy then.
  std::vector<CudaEstimate> others;
  std::vector<std::string> missing;  ///< parameters that the rows do not determine, and why

  /// Throws std::out_of_range if there is none of that name.
  [[nodiscard]] const CudaEstimate& at(std::string_view name) const;
};

/// Straight lines, each through the rows that it concerns:
///   kernel_launch       launch_first against blocks, at 0, less half of host_flag
///   step_latency        flag_step against bytes, at 0
///   thread_block_rate   pipe_copy against bytes: slope; as wire rate, by the start set's
///   efficiency reduce_rate         pipe_reduce against bytes: slope half_rate_threads   copy_block
///   a byte against 1 / threads: slope / intercept local_copy_rate, local_reduce_rate   copy_block,
///   reduce_block likewise, at full_threads max_thread_blocks   SMs
/// All with full_threads threads of `start`, or the next number that was measured.
[[nodiscard]] CudaFit fit_cuda(const CudaMeasurements& measured, const CostModel& start);

/// The start set with the estimates in place, each parameter with its source (value_source.hpp).
[[nodiscard]] std::string cuda_set_yaml(const CudaFit& fit, const CudaMeasurements& measured,
                                        const ParameterSet& start, const std::string& name);

/// The estimates in words.
[[nodiscard]] std::string cuda_fit_text(const CudaFit& fit);

}  // namespace cclgym
