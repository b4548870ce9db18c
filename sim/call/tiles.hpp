// How messages are cut into tiles.
#pragma once

#include <cstdint>

#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// Into how many equal tiles chunks are cut for a message to have at most config.tile_bytes a tile;
/// 1 if tile_bytes is 0. `message_bytes`: of the largest message, untiled.
/// Throws UserError if config.slots is not 0 to 8 or there are more than a billion tiles.
[[nodiscard]] std::int32_t tiles_of(double message_bytes, const Config& config);

/// `config` with the tile size and the slots of its protocol as the cost model states them (both 0,
/// messages whole and slots unbounded, if it states none).
[[nodiscard]] Config with_protocol_tiles(const CostModel& model, Config config);

}  // namespace cclgym
