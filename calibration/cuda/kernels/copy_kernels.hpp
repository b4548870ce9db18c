// Copies and sums by thread blocks, patterns of data and their check, and kernels that do nothing
// but start. In C++17, which nvcc compiles.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

#include "calibration/cuda/kernels/exchange_kernels.hpp"

namespace cclgym::device {

/// Element i of rank r's data: small whole numbers, so that sums over up to 1,000 ranks are exact.
#if defined(__CUDACC__)
__host__ __device__
#endif
    inline float
    pattern(unsigned long long i, unsigned int rank) {
  return static_cast<float>((i * 7 + rank * 13ull) & 15u);
}

/// data[i] = pattern(i, rank).
cudaError_t launch_fill(float* data, std::size_t count, unsigned int rank, cudaStream_t stream);
/// *wrong += number of i < count with data[i] != the sum over ranks first_rank … first_rank +
/// ranks - 1 of pattern(first + i, rank).
cudaError_t launch_verify(const float* data, std::size_t count, std::size_t first,
                          unsigned int first_rank, unsigned int ranks, unsigned long long* wrong,
                          cudaStream_t stream);

struct CopyLaunch {
  unsigned int blocks = 1;
  unsigned int threads = 512;       ///< a multiple of 32, at most kMostThreads
  unsigned long long limit_ns = 0;  ///< of the wait for each other at the start
  unsigned int* stopped = nullptr;  ///< 0; set if that wait was given up
  unsigned int* arrived = nullptr;  ///< 0
  BlockTimes* times = nullptr;      ///< one a block
  cudaStream_t stream = nullptr;
};
/// to = from (`added` null) or from + added, floats in `bytes` (a multiple of 16), `passes` times:
/// each block its share, by 16-byte accesses.
cudaError_t launch_copy(const CopyLaunch& launch, const float* from, const float* added, float* to,
                        std::size_t bytes, unsigned int passes);

cudaError_t launch_empty(unsigned int blocks, unsigned int threads, cudaStream_t stream);
/// The last of the blocks to start counts *count up and stores it into *seen (pinned host memory).
/// `arrived` begins at 0 and is 0 again afterwards.
cudaError_t launch_first_store(unsigned int blocks, unsigned int threads, unsigned int* arrived,
                               unsigned long long* count, unsigned long long* seen,
                               cudaStream_t stream);
/// Answers 1, 2, … `rounds` in *answer when the host has stored them in *question.
cudaError_t launch_answer(unsigned long long* question, unsigned long long* answer,
                          unsigned long long rounds, unsigned int* stopped,
                          unsigned long long limit_ns, cudaStream_t stream);
/// The smallest step of global_ns() that a thread sees, ns, into *step_ns (0: it stood still).
cudaError_t launch_clock_step(unsigned long long* step_ns, cudaStream_t stream);

}  // namespace cclgym::device
