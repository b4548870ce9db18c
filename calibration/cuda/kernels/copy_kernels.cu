#include "calibration/cuda/kernels/copy_kernels.hpp"
#include "calibration/cuda/kernels/device_clock.cuh"

namespace cclgym::device {

namespace {

constexpr unsigned int kWarp = 32;
constexpr unsigned int kWideThreads = 256;
constexpr unsigned int kWideBlocks = 1024;

__global__ void fill(float* data, std::size_t count, unsigned int rank) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    data[i] = pattern(i, rank);
  }
}

__global__ void verify(const float* data, std::size_t count, std::size_t first,
                       unsigned int first_rank, unsigned int ranks, unsigned long long* wrong) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long found = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    float expected = 0;
    for (unsigned int rank = 0; rank < ranks; ++rank)
      expected += pattern(first + i, first_rank + rank);
    if (!(data[i] == expected)) ++found;
  }
  if (found != 0) atomicAdd(wrong, found);
}

__device__ uint4 load16(const uint4* from) {
  uint4 value;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
__device__ void store16(uint4* to, const uint4& value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
__device__ unsigned int add_float(unsigned int a, unsigned int b) {
  return __float_as_uint(__uint_as_float(a) + __uint_as_float(b));
}

template <bool kAdd>
__global__ void __launch_bounds__(kMostThreads, 1)
    copy(const uint4* from, const uint4* added, uint4* to, std::size_t vectors, unsigned int passes,
         unsigned int* stopped, unsigned int* arrived, BlockTimes* times,
         unsigned long long limit_ns) {
  constexpr unsigned int kUnroll = 4;
  constexpr std::size_t kPiece = kUnroll * kWarp;  // vectors per warp and turn
  if (threadIdx.x == 0) times[blockIdx.x].sm = sm_id();
  Watch watch(stopped, limit_ns);
  if (!meet(arrived, gridDim.x, watch)) return;
  if (threadIdx.x == 0) times[blockIdx.x].begin_ns = global_ns();
  const std::size_t pieces = (vectors + kPiece - 1) / kPiece;
  const std::size_t begin = pieces * blockIdx.x / gridDim.x;
  const std::size_t end = pieces * (blockIdx.x + 1) / gridDim.x;
  const std::size_t lane = threadIdx.x % kWarp;
  for (unsigned int pass = 0; pass < passes; ++pass) {
    for (std::size_t piece = begin + threadIdx.x / kWarp; piece < end;
         piece += blockDim.x / kWarp) {
      const std::size_t at = piece * kPiece + lane;
      uint4 values[kUnroll];
      uint4 others[kUnroll];
      if ((piece + 1) * kPiece <= vectors) {
#pragma unroll
        for (unsigned int u = 0; u < kUnroll; ++u) {
          values[u] = load16(from + at + u * kWarp);
          if (kAdd) others[u] = load16(added + at + u * kWarp);
        }
#pragma unroll
        for (unsigned int u = 0; u < kUnroll; ++u) {
          if (kAdd) {
            values[u] = {add_float(values[u].x, others[u].x), add_float(values[u].y, others[u].y),
                         add_float(values[u].z, others[u].z), add_float(values[u].w, others[u].w)};
          }
          store16(to + at + u * kWarp, values[u]);
        }
      } else {
        for (std::size_t i = at; i < vectors; i += kWarp) {
          uint4 value = load16(from + i);
          if (kAdd) {
            const uint4 other = load16(added + i);
            value = {add_float(value.x, other.x), add_float(value.y, other.y),
                     add_float(value.z, other.z), add_float(value.w, other.w)};
          }
          store16(to + i, value);
        }
      }
    }
  }
  __threadfence_system();  // the timed work includes the arrival of the stores
  __syncthreads();
  if (threadIdx.x != 0) return;
  times[blockIdx.x].end_ns = global_ns();
  times[blockIdx.x].done = 1;
}

__global__ void empty() {}

__global__ void first_store(unsigned int* arrived, unsigned long long* count,
                            unsigned long long* seen) {
  if (threadIdx.x != 0) return;
  // Wraps to 0 with the last block.
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return;
  const unsigned long long next = load_volatile(count) + 1;
  store_volatile(count, next);
  store_release(seen, next);
}

__global__ void answer(unsigned long long* question, unsigned long long* answer,
                       unsigned long long rounds, unsigned int* stopped,
                       unsigned long long limit_ns) {
  if (threadIdx.x != 0) return;
  Watch watch(stopped, limit_ns);
  for (unsigned long long round = 1; round <= rounds; ++round) {
    while (load_acquire(question) < round) {
      if (watch.expired()) return;
    }
    store_release(answer, round);
  }
}

__global__ void clock_step(unsigned long long* step_ns) {
  constexpr int kSteps = 1000;
  constexpr long long kMostCycles = 200'000'000;  // 0.1 s: the limit if the clock stands still
  const long long begin = clock64();
  unsigned long long least = 0;
  unsigned long long last = global_ns();
  for (int step = 0; step < kSteps && clock64() - begin < kMostCycles;) {
    const unsigned long long now = global_ns();
    if (now == last) continue;
    const unsigned long long difference = now - last;
    if (least == 0 || difference < least) least = difference;
    last = now;
    ++step;
  }
  *step_ns = least;
}

}  // namespace

cudaError_t launch_fill(float* data, std::size_t count, unsigned int rank, cudaStream_t stream) {
  fill<<<kWideBlocks, kWideThreads, 0, stream>>>(data, count, rank);
  return cudaGetLastError();
}

cudaError_t launch_verify(const float* data, std::size_t count, std::size_t first,
                          unsigned int first_rank, unsigned int ranks, unsigned long long* wrong,
                          cudaStream_t stream) {
  verify<<<kWideBlocks, kWideThreads, 0, stream>>>(data, count, first, first_rank, ranks, wrong);
  return cudaGetLastError();
}

cudaError_t launch_copy(const CopyLaunch& launch, const float* from, const float* added, float* to,
                        std::size_t bytes, unsigned int passes) {
  const auto* from16 = reinterpret_cast<const uint4*>(from);
  const auto* added16 = reinterpret_cast<const uint4*>(added);
  auto* to16 = reinterpret_cast<uint4*>(to);
  std::size_t vectors = bytes / sizeof(uint4);
  unsigned int* stopped = launch.stopped;
  unsigned int* arrived = launch.arrived;
  BlockTimes* times = launch.times;
  unsigned long long limit_ns = launch.limit_ns;
  void* arguments[] = {&from16,  &added16, &to16,  &vectors, &passes,
                       &stopped, &arrived, &times, &limit_ns};
  const void* kernel = added == nullptr ? reinterpret_cast<const void*>(copy<false>)
                                        : reinterpret_cast<const void*>(copy<true>);
  return cudaLaunchCooperativeKernel(kernel, dim3(launch.blocks), dim3(launch.threads), arguments,
                                     0, launch.stream);
}

cudaError_t launch_empty(unsigned int blocks, unsigned int threads, cudaStream_t stream) {
  empty<<<blocks, threads, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_first_store(unsigned int blocks, unsigned int threads, unsigned int* arrived,
                               unsigned long long* count, unsigned long long* seen,
                               cudaStream_t stream) {
  first_store<<<blocks, threads, 0, stream>>>(arrived, count, seen);
  return cudaGetLastError();
}

cudaError_t launch_answer(unsigned long long* question, unsigned long long* answer_to,
                          unsigned long long rounds, unsigned int* stopped,
                          unsigned long long limit_ns, cudaStream_t stream) {
  answer<<<1, kWarp, 0, stream>>>(question, answer_to, rounds, stopped, limit_ns);
  return cudaGetLastError();
}

cudaError_t launch_clock_step(unsigned long long* step_ns, cudaStream_t stream) {
  clock_step<<<1, 1, 0, stream>>>(step_ns);
  return cudaGetLastError();
}

}  // namespace cclgym::device
