// How NCCL carries out what it has no algorithm for: grouped sends and receives.
#pragma once

#include <cstdint>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// One send, and the receive that it meets.
struct NcclP2pChoice {
  Protocol protocol = Protocol::Simple;
  int channels = 1;               ///< that share the message
  int threads = 640;              ///< a channel; NCCL_MAX_NTHREADS
  std::uint64_t chunk_bytes = 0;  ///< data that is handed on at once, B
  int slices = 8;                 ///< such chunks that a connection's FIFO holds

  friend bool operator==(const NcclP2pChoice&, const NcclP2pChoice&) = default;
};

/// What NCCL does for a send of so many bytes while every rank sends to every other, as in AllToAll
/// (src/graph/paths.cc, ncclTopoComputeP2pChannels; src/enqueue.cc, addP2pToPlan). One answer for
/// all peers: like NCCL we take the least channels that any pair has; LL, which NCCL uses only
/// inside a server, only if all ranks are on one.
[[nodiscard]] NcclP2pChoice nccl_p2p(const NcclVersion& version, const NcclComm& comm,
                                     std::uint64_t bytes_to_peer);

}  // namespace cclgym
