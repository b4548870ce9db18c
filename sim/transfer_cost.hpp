// What one message, one local operation and one link cost under a cost model: the only place where
// protocol physics is written down.
#pragma once

#include <span>
#include <vector>

#include "collectives/ir.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// How one message is charged.
struct TransferCost {
  double wire_bytes = 0;    ///< bytes that load the links: payload / protocol efficiency
  double latency_s = 0;     ///< before the first byte
  double rate_cap_Bps = 0;  ///< wire rate that the thread blocks at its ends can sustain
};
/// `reducing`: the receiver adds what it receives.
[[nodiscard]] TransferCost transfer_cost(const CostModel& model, const Fabric& fabric,
                                         std::span<const LinkId> route, const Config& config,
                                         double payload_bytes, bool reducing);

/// Seconds that a step takes which is not part of a message: a local copy or reduction. 0 for
/// others (receives are charged in their message, a nop costs nothing).
[[nodiscard]] double local_cost_s(const CostModel& model, const Config& config, Opcode opcode,
                                  double bytes);

/// Into how many equal tiles of at most config.tile_bytes a chunk is cut; 1 if tile_bytes is 0.
/// Throws UserError if config.slots is not 0 to 8 or there are more than a billion tiles.
[[nodiscard]] std::int32_t tiles_of(double chunk_bytes, const Config& config);

/// `config` with the tile size and the slots of its protocol as the cost model states them (both 0,
/// messages whole and slots unbounded, if it states none).
[[nodiscard]] Config with_protocol_tiles(const CostModel& model, Config config);

/// Seconds from the call to a rank's first instruction.
[[nodiscard]] double launch_cost_s(const CostModel& model, int channels);

/// Capacity of every link of the fabric under a cost model, B/s, in the order of fabric.links().
[[nodiscard]] std::vector<double> link_capacities(const Fabric& fabric, const CostModel& model);

}  // namespace cclgym
