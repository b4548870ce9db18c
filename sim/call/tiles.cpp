#include "sim/call/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <optional>

#include "core/error.hpp"
#include "sim/call/nccl_programs.hpp"

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

namespace {

// Slots of a connection's FIFO that a chunk of NCCL's algorithm fills. NCCL runs all steps of a
// chunk before the next one, as a thread block here runs those of a tile. The slices of a ring's
// chunk fill half of the FIFO, but with a root, a chunk is one slot. Trees with LL128, NVLS and
// CollNet have chunks that follow the size of the call (calcCollChunking in src/enqueue.cc); an
// eighth of a slot is near those of calls of 4 MiB to 256 MiB, and smaller calls have few tiles.
double slots_of_chunk(NcclAlgorithm algorithm, CollectiveKind collective, Protocol protocol,
                      const ProtocolCost& cost) {
  if (algorithm == NcclAlgorithm::Ring) {
    const bool sliced = protocol == Protocol::Simple && !is_rooted(collective);
    return sliced ? 2.0 * cost.message_slots : 1;
  }
  const bool by_size = algorithm == NcclAlgorithm::Tree ? protocol == Protocol::LL128
                                                        : algorithm != NcclAlgorithm::Pat;
  return by_size ? 1.0 / 8 : 1;
}

}  // namespace

Config with_protocol_tiles(const CostModel& model, CollectiveKind collective, Config config) {
  const ProtocolCost& cost = model.protocols[static_cast<std::size_t>(config.protocol)];
  config.tile_bytes = cost.tile_bytes();
  config.slots = cost.tile_slots();
  const std::optional<NcclAlgorithm> algorithm = nccl_algorithm(config.algorithm);
  if (!algorithm || cost.slot_bytes == 0 || cost.slots == 0) return config;
  const double filled = slots_of_chunk(*algorithm, collective, config.protocol, cost);
  config.tile_bytes = static_cast<std::uint64_t>(filled * static_cast<double>(cost.slot_bytes));
  config.slots = std::max(1, static_cast<int>(cost.slots / std::max(1.0, filled)));
  return config;
}

}  // namespace cclgym
