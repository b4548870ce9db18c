// Formulas of the cost model: costs of a message, a local step, a launch and a link. Together with
// price.hpp, which applies them to the nodes of a graph, this is the only place that has protocol
// physics; the start skew of a model is drawn in sim/simulator.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/ir.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// True for NCCL's kernels for symmetric memory, which load from and store to the buffers of peers.
/// The blocks of one of their channels are one thread block, which serves all peers.
[[nodiscard]] bool in_symmetric_memory(const CostTraits& traits);

/// Costs of one message. It occupies its sender for latency_s and then until the last byte has
/// left; it reaches the receiver arrival_s later.
struct TransferCost {
  double wire_bytes = 0;    ///< bytes that load the links: payload / protocol efficiency
  double latency_s = 0;     ///< time before the first byte
  double arrival_s = 0;     ///< time after the last byte: flight and the receiver's synchronisation
  double rate_cap_Bps = 0;  ///< wire rate that the thread blocks at its ends can sustain
};
/// `reducing`: one end adds the message to its own data. `network_messages` and `sharing_blocks`:
/// those of PriceTerms. Under model "hockney", latency_s contains all of alpha: the sender is busy
/// until the message has arrived.
[[nodiscard]] TransferCost transfer_cost(const CostModel& model, const Fabric& fabric,
                                         std::span<const LinkId> route, const Config& config,
                                         const CostTraits& traits, double payload_bytes,
                                         bool reducing, std::int64_t network_messages = 0,
                                         double sharing_blocks = 1);

/// Share of its rates that is left to a message inside a node one of whose ends exchanges messages
/// with this many peers at once, at least 1: 1 - (1 - peer_efficiency) (peers - 1) / peers
/// (docs/physics.md). 1 under model "hockney".
[[nodiscard]] double rate_among_peers(const CostModel& model, int peers);

/// Wire rate of a message that a thread block of NCCL's sends exchanges for another one, if it
/// could move `rate_Bps` alone: inside a node the share exchange_share of it; to another node at
/// most what NCCL expects of a channel there, 14 GB/s, under a model that has an exchange_share.
[[nodiscard]] double rate_of_exchange_Bps(const CostModel& model, double rate_Bps, bool network);

/// Link of a route whose rate the messages of a GPU or a NIC share: the one from the NIC to the
/// network, or inside a node the first one.
[[nodiscard]] LinkId limiting_link(const Fabric& fabric, std::span<const LinkId> route);

/// Share of the rates that is left if thread blocks could send `blocks_Bps` over a link that
/// carries `link_Bps`: (1 + r^p)^(-1/p), with r the smaller of the two over the larger one and p =
/// -1 / log2(even_efficiency), so that both limits together give (blocks^-p + link^-p)^(-1/p)
/// (docs/physics.md). 1 under model "hockney", or if one of them is no limit.
[[nodiscard]] double rate_near_limits(const CostModel& model, double blocks_Bps, double link_Bps);

/// Payload, in bytes, that a thread block has received when it can start to send it on: with LL and
/// LL128 its threads forward each line as soon as its flag has arrived, so that a step that
/// receives and sends (within a node) does not wait for the whole message. Infinity if it waits:
/// with Simple, under model "hockney", and in kernels of SCCL.
[[nodiscard]] double streamed_unit_bytes(const CostModel& model, const Config& config,
                                         const CostTraits& traits);

/// Cost of a transfer that switches copy or add (Instruction::group); `longest` is the longest
/// route of its messages. The switches do the adding, so no thread block's reduce_rate limits it.
[[nodiscard]] TransferCost switched_cost(const CostModel& model, const Fabric& fabric,
                                         std::span<const LinkId> longest, const Config& config,
                                         const CostTraits& traits, double payload_bytes);

/// Seconds that a thread block spends on each instruction before it does any work.
[[nodiscard]] double instruction_cost_s(const CostModel& model, Runtime runtime);

/// Seconds that a step keeps its thread block busy with work other than sending: a local copy or
/// reduction, or taking a message out of the FIFO (while it arrives, so that this only shows if the
/// block reaches the step late). 0 for steps that send and for nops.
[[nodiscard]] double local_cost_s(const CostModel& model, const Config& config, Runtime runtime,
                                  Opcode opcode, double bytes, double sharing_blocks = 1);

/// Seconds that a copy kernel of the whole GPU takes for one contiguous run of `bytes`, of which it
/// makes many: the run is read and written at the rate of the GPU's memory (Opcode::DeviceCopy).
/// Its launch is that of its kernel. 0 if the fabric does not say which GPU it has.
[[nodiscard]] double device_copy_cost_s(const Fabric& fabric, const Config& config, double bytes);

/// Seconds that the host takes to launch a kernel with this many channels and thread blocks on this
/// GPU, from the call to a rank's first instruction.
[[nodiscard]] double launch_cost_s(const CostModel& model, Runtime runtime, int channels,
                                   int thread_blocks);

/// Seconds between two kernels of one program on a GPU.
[[nodiscard]] double kernel_gap_s(const CostModel& model);

/// Capacity of every link of the fabric under a cost model, B/s, in the order of fabric.links().
[[nodiscard]] std::vector<double> link_capacities(const Fabric& fabric, const CostModel& model);

/// True if the program's messages between nodes are sent by MPI and the model has costs for that.
[[nodiscard]] bool sends_by_mpi(const CostModel& model, const CostTraits& traits);

/// Wire rate at which a rank's proxy serves messages of this size over the network, for all of the
/// rank's connections together; kNoRateCap if the proxy is no limit.
[[nodiscard]] double proxy_capacity_Bps(const CostModel& model, Protocol protocol,
                                        double payload_bytes);

/// Maximum wire rate of all messages over the network between two ranks, in both directions
/// together; kNoRateCap if there is no limit.
[[nodiscard]] double connection_capacity_Bps(const CostModel& model);

/// Capacity of a network link that passes `bytes` in total and starts the call with `buckets` full
/// token buckets. Bytes that pass at once are deducted from all traffic in proportion, so that the
/// link's total busy time is the same. The result is at most 64 times the capacity.
[[nodiscard]] double capacity_with_burst_Bps(const CostModel& model, double capacity_Bps,
                                             double bytes, int buckets);

}  // namespace cclgym
