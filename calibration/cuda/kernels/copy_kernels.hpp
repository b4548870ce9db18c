// Copies and sums by thread blocks, data patterns and their verification, and kernels that only
// start. In C++17, for nvcc.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

#include "calibration/cuda/kernels/exchange_kernels.hpp"

namespace cclgym::device {

/// Element i of rank r's data: small integers, so that sums over up to 1,000 ranks are exact.
#if defined(__CUDACC__)
__host__ __device__
#endif
    inline float
    pattern(unsigned long long i, unsigned int rank) {
  return static_cast<float>((i * 7 + rank * 13ull) & 15u);
}

/// data[i] = pattern(i, rank).
cudaError_t launch_fill(float* data, std::size_t count, unsigned int rank, cudaStream_t stream);
/// Adds to *wrong the number of i < count with data[i] != the sum of pattern(first + i, rank) over
/// ranks first_rank … first_rank + ranks - 1.
cudaError_t launch_verify(const float* data, std::size_t count, std::size_t first,
                          unsigned int first_rank, unsigned int ranks, unsigned long long* wrong,
                          cudaStream_t stream);

struct CopyLaunch {
  unsigned int blocks = 1;
  unsigned int threads = 512;       ///< a multiple of 32, at most kMostThreads
  unsigned long long limit_ns = 0;  ///< limit of the wait for the other blocks at the start
  unsigned int* stopped = nullptr;  ///< points to 0; set if that wait was given up
  unsigned int* arrived = nullptr;  ///< points to 0
  BlockTimes* times = nullptr;      ///< one per block
  cudaStream_t stream = nullptr;
};
/// Writes `from` (if `added` is null) or from + added into `to`, `passes` times: floats of `bytes`
/// (a multiple of 16) in total. Each block writes its share, with 16-byte accesses.
cudaError_t launch_copy(const CopyLaunch& launch, const float* from, const float* added, float* to,
                        std::size_t bytes, unsigned int passes);

cudaError_t launch_empty(unsigned int blocks, unsigned int threads, cudaStream_t stream);
/// The last block to start increments *count and stores it into *seen (pinned host memory).
/// `arrived` is 0 before and after.
cudaError_t launch_first_store(unsigned int blocks, unsigned int threads, unsigned int* arrived,
                               unsigned long long* count, unsigned long long* seen,
                               cudaStream_t stream);
/// Writes 1, 2, … `rounds` to *answer once the host has stored them in *question.
cudaError_t launch_answer(unsigned long long* question, unsigned long long* answer,
                          unsigned long long rounds, unsigned int* stopped,
                          unsigned long long limit_ns, cudaStream_t stream);
/// Writes the smallest step of global_ns() that a thread sees, ns, to *step_ns (0: the clock stood
/// still).
cudaError_t launch_clock_step(unsigned long long* step_ns, cudaStream_t stream);

}  // namespace cclgym::device
