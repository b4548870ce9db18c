// Cost records: everything that the price of a graph node depends on besides the cost model.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/ir.hpp"
#include "sim/call/call.hpp"
#include "sim/graph/transfer_graph.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Kind of work that a graph node stands for.
enum class Work : std::uint8_t {
  Launch,            ///< the host launches a kernel
  KernelGap,         ///< pause between two kernels of a GPU
  Local,             ///< a step that copies, reduces, or takes a message out of the FIFO
  InPlace,           ///< a step that takes no time: the switches do its work
  Transfer,          ///< a message between two ranks
  SwitchedTransfer,  ///< messages that switches copy or add, as one flow
  Arrival,           ///< flight of a Transfer after its last byte has left
  SwitchedArrival,   ///< flight of a SwitchedTransfer
  Head               ///< from the start of a Transfer until its first unit has arrived
};

/// Cost record of a node. Nodes with equal records cost the same under every cost model, whatever
/// the collective size and the protocol. Ranks and connections are not part of it (NodeOrigin and
/// the node's route have them), so that a graph of millions of nodes has a handful of records.
struct NodeCost {
  Work work = Work::InPlace;
  Opcode opcode = Opcode::Nop;     ///< opcode of the step; transfers and arrivals have the sender's
  bool reducing = false;           ///< transfers: one end adds the message to its own data
  std::int32_t chunks = 0;         ///< payload of a firing, in chunks (of one tile)
  std::int32_t route = -1;         ///< transfers and arrivals: index into NodeCosts::routes
  std::int32_t channels = 0;       ///< launches: channels of the kernel
  std::int32_t thread_blocks = 0;  ///< launches: thread blocks of the kernel on this GPU
  /// Transfers inside a node: peers with which an end of the message exchanges messages at once.
  std::int32_t peers = 1;
  /// Transfers: thread blocks whose messages leave the GPU by the same link or the node by the same
  /// NIC, in channels that are not alike; 0 if it makes no difference.
  std::int32_t senders = 0;
  bool exchanging = false;  ///< transfers: the block receives another message at once
  /// Share of its rates that the slower GPU at the ends of the node has left (noise).
  double gpu_rate = 1;

  friend bool operator==(const NodeCost&, const NodeCost&) = default;
};

/// Part of a price that depends on the call and its configuration.
struct PriceTerms {
  Config config;
  CostTraits traits;      ///< traits of the algorithm
  double tile_bytes = 0;  ///< payload of one chunk of a tile, B
  /// Maximum number of messages of a connection between nodes in one kernel of the program.
  std::int64_t network_messages = 0;
  int alike_channels = 1;  ///< ProgramOutline::alike_channels
  /// Thread blocks of the program that share the rate of one: those of a kernel per SM, which is up
  /// to 1 if every block has an SM of its own; in symmetric memory, the blocks of a channel, one
  /// for each peer, which are one block of NCCL's kernel.
  double sharing_blocks = 1;
};

/// Cost records of a lowered program.
struct NodeCosts {
  /// Delay of one node in addition to the latency in its price.
  struct Delay {
    TransferId node = -1;
    double seconds = 0;
  };

  PriceTerms terms;
  /// Routes of the fabric, without repetition: routes whose links have the same kinds and latencies
  /// in the same order are equal.
  std::vector<std::vector<LinkId>> routes;
  std::vector<NodeCost> records;        ///< distinct
  std::vector<std::int32_t> record_of;  ///< by node: index into `records`
  /// Delays in ascending order of nodes: start delays of launches, and jitter of messages.
  std::vector<Delay> delays;

  [[nodiscard]] const NodeCost& of(TransferId node) const {
    return records[static_cast<std::size_t>(record_of[static_cast<std::size_t>(node)])];
  }
};

}  // namespace cclgym
