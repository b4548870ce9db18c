#include "calibration/cuda/device_fifo.cuh"
#include "calibration/cuda/exchange_kernels.hpp"

namespace cclgym::device {

namespace {

struct Common {
  const Fifo* fifos;
  unsigned int* stopped;
  unsigned int* arrived;
  BlockTimes* times;
  unsigned long long limit_ns;
};

__device__ void begin_times(const Common& common) {
  if (threadIdx.x == 0) common.times[blockIdx.x].begin_ns = global_ns();
}
// All threads of the block are done with what is timed.
__device__ void end_times(const Common& common) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  common.times[blockIdx.x].end_ns = global_ns();
  common.times[blockIdx.x].done = 1;
}
__device__ void note_sm(const Common& common) {
  if (threadIdx.x == 0) common.times[blockIdx.x].sm = sm_id();
}

struct FlagStep {
  unsigned int partner;
  float* data;
  const float* addend;
  std::size_t bytes;
  unsigned int warm;
  unsigned int rounds;
};

template <FifoProtocol kProtocol>
__global__ void __launch_bounds__(kMostThreads, 1) flag_step(Common common, FlagStep task) {
  note_sm(common);
  const bool first = blockIdx.x == 0;
  if (!first && blockIdx.x != task.partner) return;
  Watch watch(common.stopped, common.limit_ns);
  // The two share connections 0 (there) and 1 (back).
  Exchange<kProtocol> exchange(common.fifos[first ? 1 : 0], common.fifos[first ? 0 : 1], watch);
  if (!meet(common.arrived, 2, watch)) return;
  for (unsigned int round = 0; round < task.warm + task.rounds; ++round) {
    if (round == task.warm) begin_times(common);
    if (first) {
      if (!exchange.template step<false, true, true, false>(task.data, nullptr, task.bytes)) return;
      if (!exchange.template step<true, false, false, true>(nullptr, task.data, task.bytes)) return;
    } else {
      if (!exchange.template step<true, true, true, false>(task.addend, nullptr, task.bytes)) {
        return;
      }
    }
  }
  end_times(common);
}

struct Messages {
  const float* inputs;
  float* outputs;
  std::size_t bytes;
  std::size_t chunk_bytes;
  unsigned int passes;
};

__device__ std::size_t part(std::size_t left, std::size_t most) {
  return left < most ? left : most;
}

template <FifoProtocol kProtocol>
__global__ void __launch_bounds__(kMostThreads, 1) pipe(Common common, Messages task) {
  note_sm(common);
  Watch watch(common.stopped, common.limit_ns);
  const unsigned int last = gridDim.x - 1;
  const Fifo none{};
  Exchange<kProtocol> exchange(blockIdx.x == 0 ? none : common.fifos[blockIdx.x - 1],
                               blockIdx.x == last ? none : common.fifos[blockIdx.x], watch);
  const float* input = task.inputs + blockIdx.x * (task.bytes / sizeof(float));
  if (!meet(common.arrived, gridDim.x, watch)) return;
  begin_times(common);
  for (unsigned int pass = 0; pass < task.passes; ++pass) {
    for (std::size_t at = 0; at < task.bytes; at += task.chunk_bytes) {
      const std::size_t bytes = part(task.bytes - at, task.chunk_bytes);
      const float* from = input + at / sizeof(float);
      float* to = task.outputs + at / sizeof(float);
      bool good;
      if (blockIdx.x == 0) {
        good = exchange.template step<false, true, true, false>(from, nullptr, bytes);
      } else if (blockIdx.x == last) {
        good = exchange.template step<true, false, false, true>(nullptr, to, bytes);
      } else {
        good = exchange.template step<true, true, true, false>(from, nullptr, bytes);
      }
      if (!good) return;
    }
  }
  end_times(common);
}

// Rank r begins with part r - 1 (the one that it will hold reduced is r) and passes on what it
// gets: in the first n - 1 steps parts are summed, in the next n - 1 the sums go round.
template <FifoProtocol kProtocol>
__global__ void __launch_bounds__(kMostThreads, 1) ring(Common common, Messages task) {
  note_sm(common);
  Watch watch(common.stopped, common.limit_ns);
  const unsigned int ranks = gridDim.x;
  const unsigned int rank = blockIdx.x;
  Exchange<kProtocol> exchange(common.fifos[(rank + ranks - 1) % ranks], common.fifos[rank], watch);
  const std::size_t own = rank * (task.bytes / sizeof(float));
  const float* input = task.inputs + own;
  float* output = task.outputs + own;
  const std::size_t part_bytes = task.bytes / ranks;
  if (!meet(common.arrived, ranks, watch)) return;
  begin_times(common);
  for (unsigned int pass = 0; pass < task.passes; ++pass) {
    for (std::size_t at = 0; at < part_bytes; at += task.chunk_bytes) {
      const std::size_t bytes = part(part_bytes - at, task.chunk_bytes);
      // The part that this rank handles `back` steps behind its own.
      const auto place = [&](unsigned int back) {
        return (((rank + 2 * ranks - back) % ranks) * part_bytes + at) / sizeof(float);
      };
      if (!exchange.template step<false, true, true, false>(input + place(1), nullptr, bytes))
        return;
      for (unsigned int step = 2; step < ranks; ++step) {
        if (!exchange.template step<true, true, true, false>(input + place(step), nullptr, bytes)) {
          return;
        }
      }
      if (!exchange.template step<true, true, true, true>(input + place(ranks),
                                                          output + place(ranks), bytes)) {
        return;
      }
      for (unsigned int step = 1; step + 1 < ranks; ++step) {
        if (!exchange.template step<true, true, false, true>(nullptr, output + place(step),
                                                             bytes)) {
          return;
        }
      }
      if (!exchange.template step<true, false, false, true>(nullptr, output + place(ranks - 1),
                                                            bytes)) {
        return;
      }
    }
  }
  end_times(common);
}

template <class Task>
using Kernel = void (*)(Common, Task);

Kernel<FlagStep> flag_step_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return flag_step<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? flag_step<FifoProtocol::LL128>
                                         : flag_step<FifoProtocol::Simple>;
}
Kernel<Messages> pipe_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return pipe<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? pipe<FifoProtocol::LL128> : pipe<FifoProtocol::Simple>;
}
Kernel<Messages> ring_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return ring<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? ring<FifoProtocol::LL128> : ring<FifoProtocol::Simple>;
}

// Cooperative: refused unless all blocks run at once, without which they would wait in vain.
template <class Task>
cudaError_t launch_together(Kernel<Task> kernel, const ExchangeLaunch& launch, Task task) {
  Common common{launch.fifos, launch.stopped, launch.arrived, launch.times, launch.limit_ns};
  const void* function = reinterpret_cast<const void*>(kernel);
  const cudaError_t allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
  if (allowed != cudaSuccess) return allowed;
  void* arguments[] = {&common, &task};
  return cudaLaunchCooperativeKernel(function, dim3(launch.blocks), dim3(launch.threads), arguments,
                                     launch.shared_bytes, launch.stream);
}

}  // namespace

std::size_t fifo_slot_bytes(FifoProtocol protocol, std::size_t chunk_bytes) {
  constexpr std::size_t kLine = 128;
  const auto lines = [](std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  if (protocol == FifoProtocol::LL) return lines(2 * chunk_bytes);
  if (protocol == FifoProtocol::Simple) return lines(chunk_bytes);
  return (chunk_bytes + kLl128Slice_bytes - 1) / kLl128Slice_bytes * kLl128Wire_bytes;
}

cudaError_t exchange_shared_bytes(FifoProtocol protocol, std::size_t* bytes) {
  int device = 0;
  int most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  *bytes = static_cast<std::size_t>(most);
  const void* kernels[] = {reinterpret_cast<const void*>(flag_step_kernel(protocol)),
                           reinterpret_cast<const void*>(pipe_kernel(protocol)),
                           reinterpret_cast<const void*>(ring_kernel(protocol))};
  for (const void* kernel : kernels) {
    cudaFuncAttributes attributes{};
    error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) return error;
    const std::size_t room = static_cast<std::size_t>(most) - attributes.sharedSizeBytes;
    if (room < *bytes) *bytes = room;
  }
  return cudaSuccess;
}

cudaError_t launch_flag_step(const ExchangeLaunch& launch, unsigned int partner, float* data,
                             const float* addend, std::size_t bytes, unsigned int warm,
                             unsigned int rounds) {
  return launch_together(flag_step_kernel(launch.protocol), launch,
                         FlagStep{partner, data, addend, bytes, warm, rounds});
}

cudaError_t launch_pipe(const ExchangeLaunch& launch, const float* inputs, float* output,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes) {
  return launch_together(pipe_kernel(launch.protocol), launch,
                         Messages{inputs, output, bytes, chunk_bytes, passes});
}

cudaError_t launch_ring(const ExchangeLaunch& launch, const float* inputs, float* outputs,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes) {
  return launch_together(ring_kernel(launch.protocol), launch,
                         Messages{inputs, outputs, bytes, chunk_bytes, passes});
}

}  // namespace cclgym::device
