// Host functions that launch kernels in which thread blocks exchange messages (device_fifo.cuh). In
// C++17, for nvcc.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

namespace cclgym::device {

enum class FifoProtocol { LL, LL128, Simple };

constexpr unsigned int kFifoSlots = 8;
/// Bytes of data, and of the slot, that a warp moves at once under LL128.
constexpr std::size_t kLl128SliceBytes = 1920;
constexpr std::size_t kLl128WireBytes = 2048;
constexpr unsigned int kMostThreads = 640;

/// One connection between two blocks. `slots` is aligned to 128 bytes.
struct Fifo {
  char* slots = nullptr;               ///< kFifoSlots of slot_bytes each
  std::size_t slot_bytes = 0;          ///< size in memory, fifo_slot_bytes
  unsigned long long* tail = nullptr;  ///< steps sent (Simple)
  unsigned long long* head = nullptr;  ///< steps handed back
};

/// Bytes of memory of a slot with `chunk_bytes` of data.
std::size_t fifo_slot_bytes(FifoProtocol protocol, std::size_t chunk_bytes);

/// Report of a block that the host reads after a kernel. Times are global_ns().
struct BlockTimes {
  unsigned long long begin_ns = 0;
  unsigned long long end_ns = 0;
  unsigned int sm = 0;
  unsigned int done = 0;  ///< 1: the block finished
};

/// Arguments of all kernels in this file.
struct ExchangeLaunch {
  FifoProtocol protocol = FifoProtocol::LL;
  unsigned int blocks = 2;
  unsigned int threads = 32;        ///< a multiple of 32, at most kMostThreads
  std::size_t shared_bytes = 0;     ///< dynamic shared memory that makes a block fill its SM
  unsigned long long limit_ns = 0;  ///< limit of all waits of a block together
  const Fifo* fifos = nullptr;      ///< connection i: from block i to block i + 1 (from the last to
                                    ///< block 0)
  unsigned int* stopped = nullptr;  ///< points to 0; set if a wait was given up
  unsigned int* arrived = nullptr;  ///< points to 0
  BlockTimes* times = nullptr;      ///< one per block
  cudaStream_t stream = nullptr;
};

/// Max dynamic shared memory that the kernels of a protocol may request on this device, B.
cudaError_t exchange_shared_bytes(FifoProtocol protocol, std::size_t* bytes);

/// Ping-pong between block 0 and block `partner`: `warm` rounds, then `rounds` timed rounds. Other
/// blocks end at once. Block 0 sends `data`, the partner adds `addend` and sends back, so that each
/// round adds it once. `bytes`: a multiple of 16, at most a slot's data.
cudaError_t launch_flag_step(const ExchangeLaunch& launch, unsigned int partner, float* data,
                             const float* addend, std::size_t bytes, unsigned int warm,
                             unsigned int rounds);

/// Block 0 sends its input, the blocks in between add theirs, and the last one stores into
/// `output`: `passes` times `bytes`, in messages of at most `chunk_bytes`. Block b's input is at
/// inputs + b * bytes / 4.
cudaError_t launch_pipe(const ExchangeLaunch& launch, const float* inputs, float* output,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes);

/// Ring AllReduce, one block per rank, `passes` times. `bytes`: a multiple of 16 * blocks. Input
/// and output of rank b are at b * bytes / 4.
cudaError_t launch_ring(const ExchangeLaunch& launch, const float* inputs, float* outputs,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes);

}  // namespace cclgym::device
