// How NCCL carries a call out once algorithm and protocol are chosen: channels, threads, chunks.
// Internal to this layer.
#pragma once

#include <cstdint>

#include "cost_models/nccl/nccl_model.hpp"

namespace cclgym::nccl {

inline constexpr int kWarp = 32;
inline constexpr int kSteps = 8;          ///< NCCL_STEPS, slots of a connection's FIFO
inline constexpr int kMostThreads = 640;  ///< NCCL_MAX_NTHREADS

/// The call whose plan is made.
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
  int threads = 0;  ///< a channel
};
/// Channels and threads by the size (topoGetAlgoInfo), before the traffic scheduler.
[[nodiscard]] Launch launch(const Task& task);

struct Share {
  int channels = 1;              ///< that are used
  std::uint64_t part_bytes = 0;  ///< most that a channel gets, of the call's bytes
};
/// What the traffic scheduler makes of it: channels that would get too little are left out. Before
/// 2.22 there was none.
[[nodiscard]] Share schedule(const Task& task, int channels);

struct Chunking {
  std::uint64_t chunk_bytes = 0;  ///< data of a chunk, the unit of the loop
  std::uint64_t slice_bytes = 0;  ///< data that is handed on at once
  int slices = kSteps;            ///< such slices that a connection's FIFO holds
};
/// `simple_nvls_GBps`: what AllReduce by NVLS is estimated to reach.
[[nodiscard]] Chunking chunking(const Task& task, const Share& share, double simple_nvls_GBps);

/// Data in one slot of a connection's FIFO, B.
[[nodiscard]] std::uint64_t slot_bytes(const NcclVersion& version, NcclCpu cpu, Protocol protocol);

}  // namespace cclgym::nccl
