// Shared state of all benchmarks on one GPU: its stream, the words through which kernels report,
// and the kernel's duration per sample.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "calibration/cuda/cuda_device.hpp"
#include "calibration/cuda/kernels/copy_kernels.hpp"
#include "calibration/cuda/kernels/exchange_kernels.hpp"
#include "calibration/cuda/worker_lines.hpp"

namespace cclgym {

class CudaSession {
 public:
  /// Opens the current device. Throws CudaError.
  CudaSession();

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  [[nodiscard]] unsigned int sms() const { return sms_; }
  /// Smallest step of the clock that kernels read, s.
  [[nodiscard]] double clock_step_s() const { return clock_step_s_; }

  /// Limit of all waits of a kernel, ns.
  static constexpr unsigned long long kLimitNs = 5'000'000'000ull;

  [[nodiscard]] unsigned int* stopped() const { return words_.device<unsigned int>(); }
  [[nodiscard]] unsigned int* arrived() const { return words_.device<unsigned int>() + 32; }
  [[nodiscard]] device::BlockTimes* times() const { return times_.device<device::BlockTimes>(); }
  static constexpr unsigned int kMostBlocks = 1024;

  /// Clears the report words, in stream order.
  void clear_reports() const;
  /// Waits for the kernel and returns the reports of its first `blocks` blocks. Throws
  /// std::runtime_error if a wait was given up, CudaError if the kernel failed.
  [[nodiscard]] std::vector<device::BlockTimes> reports(unsigned int blocks) const;

  /// Number of elements of `data` that are not the sum of pattern() over the ranks (launch_verify).
  [[nodiscard]] unsigned long long wrong(const float* data, std::size_t count,
                                         unsigned int first_rank, unsigned int ranks) const;

  /// Memory on the device. Throws CellRefused if there is not enough free memory.
  [[nodiscard]] CudaMemory device_memory(std::size_t bytes) const;
  /// Pinned host memory. Throws CellRefused if there is not enough free memory.
  [[nodiscard]] CudaMemory host_memory(std::size_t bytes) const;

  /// Threads and blocks of the cell. Throws CellRefused if the device has fewer SMs than blocks.
  [[nodiscard]] unsigned int threads(const WorkerRequest& request) const;
  [[nodiscard]] unsigned int blocks(const WorkerRequest& request) const;

 private:
  CudaStream stream_;
  CudaMemory words_;
  CudaMemory wrong_;
  CudaMemory times_;
  unsigned int sms_ = 0;
  double clock_step_s_ = 0;
};

/// Time from the first block's begin to the last block's end, s. Throws std::runtime_error if a
/// block did not finish.
[[nodiscard]] double span_s(const std::vector<device::BlockTimes>& reports);

/// Number of repetitions within one sample that makes the clock's resolution negligible; `once_s`
/// is the time of one repetition. 1 to `most`.
[[nodiscard]] unsigned int passes_for(double once_s, double clock_step_s, unsigned int most);

/// Discards `warmup` samples, then takes `repeats`. sample(k) takes the k-th.
[[nodiscard]] std::vector<double> take_samples(const WorkerRequest& request,
                                               const std::function<double(int)>& sample);

// The benchmarks (cuda_cells.hpp), by source file. Each throws CellRefused if the device cannot run
// a cell, std::runtime_error if data is wrong.
[[nodiscard]] WorkerAnswer measure_launch(CudaSession& session, const WorkerRequest& request);
[[nodiscard]] WorkerAnswer measure_exchange(CudaSession& session, const WorkerRequest& request);
[[nodiscard]] WorkerAnswer measure_copy(CudaSession& session, const WorkerRequest& request);

}  // namespace cclgym
