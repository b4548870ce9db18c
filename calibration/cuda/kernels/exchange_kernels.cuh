// The kernels of exchange_kernels.hpp.
#pragma once

#include "calibration/cuda/kernels/device_fifo.cuh"

namespace cclgym::device {

struct Common {
  const Fifo* fifos;
  unsigned int* stopped;
  unsigned int* arrived;
  BlockTimes* times;
  unsigned long long limit_ns;
};

__device__ inline void begin_times(const Common& common) {
  if (threadIdx.x == 0) common.times[blockIdx.x].begin_ns = global_ns();
}
// Called when all threads of the block are done with the timed work.
__device__ inline void end_times(const Common& common) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  common.times[blockIdx.x].end_ns = global_ns();
  common.times[blockIdx.x].done = 1;
}
__device__ inline void note_sm(const Common& common) {
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
  // The two blocks share connections 0 (there) and 1 (back).
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

__device__ inline std::size_t part(std::size_t left, std::size_t most) {
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

// Rank r begins with part r - 1 (it ends with the reduced part r) and forwards what it receives:
// the first n - 1 steps sum the parts, the next n - 1 steps distribute the sums.
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
      // Offset of the part that is `back` parts behind this rank's own.
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

}  // namespace cclgym::device
