#include "sim/call/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "core/error.hpp"

namespace cclgym {

std::int32_t tiles_of(double message_bytes, const Config& config) {
  if (config.slots < 0 || config.slots > kMostSlots) {
    throw UserError(
        fmt::format("slots must be 0 (unbounded) to {}, found {}", kMostSlots, config.slots));
  }
  if (config.tile_bytes == 0) return 1;
  const double tiles = std::ceil(message_bytes / static_cast<double>(config.tile_bytes));
  if (tiles > 1e9) {
    throw UserError(fmt::format("tiles of {} B cut a message of {:.0f} B into more than 10^9",
                                config.tile_bytes, message_bytes));
  }
  return std::max(1, static_cast<std::int32_t>(tiles));
}

Config with_protocol_tiles(const CostModel& model, Config config) {
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  config.tile_bytes = protocol.tile_bytes();
  config.slots = protocol.tile_slots();
  return config;
}

}  // namespace cclgym
