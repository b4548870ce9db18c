// What a simulated call did: dates of every step, use of every link, the critical path.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// When one step of a thread block ran. A send runs while its message moves; a receive from the end
/// of the block's previous step until its message has arrived.
struct StepTime {
  int rank = 0;
  int thread_block = 0;
  int tile = 0;
  int step = 0;
  double start_s = 0;
  double end_s = 0;
  TransferId flow = -1;     ///< the message it sends or receives, -1: none
  std::int32_t firing = 0;  ///< of the flow: the tile, or its iteration of a folded loop
};
/// Every step, ordered by rank, thread block, tile (of those simulated), step.
[[nodiscard]] std::vector<StepTime> step_times(const SimulationRecord& record);

/// One message on one link.
struct LinkInterval {
  TransferId flow = -1;
  int tile = 0;
  double start_s = 0;  ///< first byte
  double end_s = 0;    ///< last byte
};

/// Use of one link.
struct LinkUse {
  double bytes = 0;  ///< bytes on the wire, protocol flags included
  /// Time with at least one message moving; carried on in proportion to the whole call's time where
  /// not all tiles were simulated.
  double busy_s = 0;
  std::vector<LinkInterval> intervals;  ///< by start date, of the simulated tiles
};
/// By link of the fabric. `intervals`: with every message on every link?
[[nodiscard]] std::vector<LinkUse> link_use(const SimulationRecord& record, bool intervals = true);

/// One firing of a node: of a tile, or of an iteration of a folded loop.
struct Firing {
  TransferId node = -1;
  std::int32_t tile = 0;
};
/// The chain of firings that determines the completion time of the simulated tiles, first to last:
/// each starts at the date at which the one before it is done.
[[nodiscard]] std::vector<Firing> critical_path(const SimulationRecord& record);

}  // namespace cclgym
