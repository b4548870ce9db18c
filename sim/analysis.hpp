// What a simulated call did: dates of every step, use of every link, the critical path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// When one step of a thread block ran. A send runs while its message moves; a receive from the end
/// of the block's previous step until its message has arrived; a step that receives and sends from
/// when the one has arrived until the other has left.
struct StepTime {
  int rank = 0;
  int thread_block = 0;
  int tile = 0;
  int step = 0;
  double start_s = 0;
  double end_s = 0;
  /// One message: its flow, -1 if there is none, and which firing of it: the tile, or the iteration
  /// of a folded loop.
  struct Message {
    TransferId flow = -1;
    std::int32_t firing = 0;
  };
  Message sent{};
  Message received{};
  double arrival_s = 0;  ///< date at which the message that it receives has arrived
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
  double bytes = 0;         ///< bytes on the wire, protocol flags included
  double rate_Bps = 0;      ///< of these bytes over the time of the whole call
  double capacity_Bps = 0;  ///< what the cost model and noise that lasts leave of the bandwidth
  /// Time with at least one message moving; carried on in proportion to the whole call's time where
  /// not all tiles were simulated.
  double busy_s = 0;
  std::vector<LinkInterval> intervals;  ///< by start date, of the simulated tiles

  /// Part of what it could have moved in the time of the call that it did move, 0 to 1.
  [[nodiscard]] double share() const { return capacity_Bps > 0 ? rate_Bps / capacity_Bps : 0; }
};
/// By link of the fabric. `intervals`: with every message on every link?
[[nodiscard]] std::vector<LinkUse> link_use(const SimulationRecord& record, bool intervals = true);

/// Indices of the links that moved anything, the nearest to its capacity (LinkUse::share) first;
/// of equal ones that which was busy longer, then the first. Shares that differ by rounding alone
/// are equal.
[[nodiscard]] std::vector<std::size_t> busiest_links(const std::vector<LinkUse>& uses);
/// "nic0 -> leaf3": the name of a link of the fabric.
[[nodiscard]] std::string link_name(const Fabric& fabric, std::size_t link);

/// One firing of a node: of a tile, or of an iteration of a folded loop.
struct Firing {
  TransferId node = -1;
  std::int32_t tile = 0;
};
/// The chain of firings that determines the completion time of the simulated tiles, first to last:
/// each starts at the date at which the one before it is done.
[[nodiscard]] std::vector<Firing> critical_path(const SimulationRecord& record);

}  // namespace cclgym
