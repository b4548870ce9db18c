// What one message, one local operation and one link cost under a cost model: the only place where
// protocol physics is written down.
#pragma once

#include <span>
#include <vector>

#include "collectives/ir.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// How one message is charged. It holds its sender for latency_s and then until the last byte has
/// left; the receiver has it arrival_s later.
struct TransferCost {
  double wire_bytes = 0;    ///< bytes that load the links: payload / protocol efficiency
  double latency_s = 0;     ///< before the first byte
  double arrival_s = 0;     ///< after the last byte: flight and the receiver's synchronisation
  double rate_cap_Bps = 0;  ///< wire rate that the thread blocks at its ends can sustain
};
/// `reducing`: one of its ends adds what it receives to what it has. Model "hockney" has all of
/// alpha in latency_s: its sender is busy until the message is there.
[[nodiscard]] TransferCost transfer_cost(const CostModel& model, const Fabric& fabric,
                                         std::span<const LinkId> route, const Config& config,
                                         const CostTraits& traits, double payload_bytes,
                                         bool reducing);

/// How a transfer is charged that switches copy or add (Instruction::group); `longest`: the longest
/// way of its messages. The switches add, so that no thread block's reduce_rate counts.
[[nodiscard]] TransferCost switched_cost(const CostModel& model, const Fabric& fabric,
                                         std::span<const LinkId> longest, const Config& config,
                                         const CostTraits& traits, double payload_bytes);

/// Wire rate at which a rank's proxy serves messages of this size over the network, all of the
/// rank's connections together; kNoRateCap if that is no limit.
[[nodiscard]] double proxy_capacity_Bps(const CostModel& model, Protocol protocol,
                                        double payload_bytes);

/// Seconds that a step keeps its thread block busy with what is not sending: a local copy or
/// reduction, or taking what arrived out of the FIFO (while it arrives, so that this only shows if
/// the block comes to it late). 0 for steps that send and for nops.
[[nodiscard]] double local_cost_s(const CostModel& model, const Config& config, Runtime runtime,
                                  Opcode opcode, double bytes);

/// Seconds that the host takes to launch a kernel of so many channels, and thread blocks on this
/// GPU: from the call to a rank's first instruction.
[[nodiscard]] double launch_cost_s(const CostModel& model, Runtime runtime, int channels,
                                   int thread_blocks);

/// Capacity of every link of the fabric under a cost model, B/s, in the order of fabric.links().
[[nodiscard]] std::vector<double> link_capacities(const Fabric& fabric, const CostModel& model);

}  // namespace cclgym
