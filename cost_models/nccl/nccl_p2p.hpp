// Grouped sends and receives, by which NCCL runs collectives that it has no algorithm for.
#pragma once

#include <cstdint>

#include "cost_models/cost_model.hpp"
#include "cost_models/nccl/nccl_comm.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

/// NCCL's choice for one send and its receive.
struct NcclP2pChoice {
  Protocol protocol = Protocol::Simple;
  int channels = 1;               ///< channels that share the message
  int threads = 640;              ///< threads per channel; NCCL_MAX_NTHREADS
  std::uint64_t chunk_bytes = 0;  ///< data of a chunk, the unit of a transfer, B
  int slices = 8;                 ///< chunks that a connection's FIFO holds

  friend bool operator==(const NcclP2pChoice&, const NcclP2pChoice&) = default;
};

/// NCCL's choice for a send of `bytes_to_peer` bytes while every rank sends to every other, as in
/// AllToAll (src/graph/paths.cc, ncclTopoComputeP2pChannels; src/enqueue.cc, addP2pToPlan). The
/// choice is the same for all peers. As in NCCL, the number of channels is the minimum over all
/// pairs. NCCL uses LL only inside a node; here LL requires that all ranks are on one node.
[[nodiscard]] NcclP2pChoice nccl_p2p(const NcclVersion& version, const NcclComm& comm,
                                     std::uint64_t bytes_to_peer);

}  // namespace cclgym
