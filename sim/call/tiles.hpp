// Division of messages into tiles.
#pragma once

#include <cstdint>

#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// Minimum number of equal tiles per chunk such that a message has at most config.tile_bytes per
/// tile; 1 if tile_bytes is 0. `message_bytes`: size of the largest message, untiled. Throws
/// UserError if config.slots is not 0 to 8 or there are more than a billion tiles.
[[nodiscard]] std::int32_t tiles_of(double message_bytes, const Config& config);

/// `config` with the tile size and slots with which its program carries out the collective. NCCL's
/// algorithms move chunks of their own (docs/cost-models.md), other programs what the cost model
/// states for the protocol. If it states nothing, both are 0: messages are not divided, and slots
/// are unlimited.
[[nodiscard]] Config with_protocol_tiles(const CostModel& model, CollectiveKind collective,
                                         Config config);

}  // namespace cclgym
