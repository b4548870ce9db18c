// NCCL's channels, threads and chunks for a call with a given algorithm and protocol. Internal to
// this layer.
#pragma once

#include <cstdint>

#include "cost_models/nccl/nccl_model.hpp"

namespace cclgym::nccl {

inline constexpr int kWarp = 32;
inline constexpr int kSteps = 8;          ///< NCCL_STEPS, slots of a connection's FIFO
inline constexpr int kMostThreads = 640;  ///< NCCL_MAX_NTHREADS

/// The call to plan.
struct Task {
  const NcclVersion& version;
  const NcclComm& comm;
  NcclCollective collective;
  NcclAlgorithm algorithm;
  Protocol protocol;
  std::uint64_t bytes;
};

struct Launch {
  int channels = 1;
  int threads = 0;  ///< threads per channel
};
/// Channels and threads for the collective size (topoGetAlgoInfo), before the traffic scheduler.
[[nodiscard]] Launch launch(const Task& task);

struct Share {
  int channels = 1;              ///< channels that are used
  std::uint64_t part_bytes = 0;  ///< maximum share of the call's bytes on one channel, B
};
/// Result of the traffic scheduler, which drops channels that would get too little traffic.
/// Releases before 2.22 have no scheduler.
[[nodiscard]] Share schedule(const Task& task, int channels);

struct Chunking {
  std::uint64_t chunk_bytes = 0;  ///< data of a chunk, the unit of the loop, B
  std::uint64_t slice_bytes = 0;  ///< data of a slice, the unit of a transfer, B
  int slices = kSteps;            ///< slices that a connection's FIFO holds
};
/// `simple_nvls_GBps`: estimated bandwidth of AllReduce by NVLS with Simple.
[[nodiscard]] Chunking chunking(const Task& task, const Share& share, double simple_nvls_GBps);

/// Data in one slot of a connection's FIFO, B.
[[nodiscard]] std::uint64_t slot_bytes(const NcclVersion& version, NcclCpu cpu, Protocol protocol);

}  // namespace cclgym::nccl
