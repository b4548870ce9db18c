// Sends of a schedule with dates, common to step schedules and timed schedules.
#pragma once

#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/lowering/messages.hpp"

namespace cclgym::synthesis {

/// A send of a chunk along a hop: the source holds the chunk at `start`, the target at `arrival`.
struct Move {
  int start = 0;
  int arrival = 0;
  int chunk = 0;  ///< index into Demand::chunks
  int hop = 0;    ///< index into Instance::hops
};

/// Max channels that the chunks of one hop are spread over.
struct HopChannels {
  int per_hop = 1;
  const Fabric* fabric = nullptr;  ///< needed if per_hop > 1: channels of equal routes
};

/// Chunks of a demand of make_demand.
[[nodiscard]] std::vector<PlannedChunk> planned_chunks(CollectiveKind collective,
                                                       const Demand& demand);

/// Moves without those that bring a chunk to a rank a second time, or to a rank that neither needs
/// it nor passes it on. A schedule without them can be reversed.
[[nodiscard]] std::vector<Move> needed_moves(const Instance& instance, const Demand& demand,
                                             std::vector<Move> moves);

/// Messages of the moves, in the order of their starts. `reversed`: the moves belong to
/// instance.reversed(), and each becomes a reduction along the hop of `instance`, with time
/// running backwards. Batches are numbered from `first_batch`.
[[nodiscard]] std::vector<PlannedMessage> messages_of(const Instance& instance,
                                                      std::vector<Move> moves, bool reversed,
                                                      int first_batch, const HopChannels& channels);

}  // namespace cclgym::synthesis
