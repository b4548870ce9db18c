// Analysis of a simulated call: dates of every step, use of every link, the critical path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// Dates of one step of a thread block. A send runs while its message moves. A receive runs from
/// the end of the block's previous step until its message has arrived. A step that receives and
/// sends runs from the arrival of the received message until the sent message has left.
struct StepTime {
  int rank = 0;
  int thread_block = 0;
  int tile = 0;
  int step = 0;
  double start_s = 0;
  double end_s = 0;
  /// One message: its flow (-1 if there is no message) and the index of the flow's firing, which is
  /// the tile or the iteration of a folded loop.
  struct Message {
    TransferId flow = -1;
    std::int32_t firing = 0;
  };
  Message sent{};
  Message received{};
  double arrival_s = 0;  ///< date at which the received message has arrived
};
/// Every step, ordered by rank, thread block, tile (simulated tiles only) and step. The record must
/// have nodes, not classes.
[[nodiscard]] std::vector<StepTime> step_times(const SimulationRecord& record);

/// One message on one link.
struct LinkInterval {
  TransferId flow = -1;
  int tile = 0;
  double start_s = 0;  ///< date of the first byte
  double end_s = 0;    ///< date of the last byte
};

/// Use of one link.
struct LinkUse {
  double bytes = 0;         ///< bytes on the wire, protocol flags included
  double rate_Bps = 0;      ///< these bytes / time of the entire call
  double capacity_Bps = 0;  ///< bandwidth after the cost model's efficiency and constant noise
  /// Time during which at least one message moves, scaled up to the entire call if not all tiles
  /// were simulated.
  double busy_s = 0;
  std::vector<LinkInterval> intervals;  ///< by start date; simulated tiles only

  /// Bytes moved as a share of those that the link could have moved during the call, 0 to 1.
  [[nodiscard]] double share() const { return capacity_Bps > 0 ? rate_Bps / capacity_Bps : 0; }
};
/// Use of each link of the fabric; with `intervals`, also every message on every link. In a record
/// of classes, the use of a link is that of its class, and each message is there once, whatever the
/// number of its class on the link; links that no message crosses have no capacity. The intervals
/// need a record with dates.
[[nodiscard]] std::vector<LinkUse> link_use(const SimulationRecord& record, bool intervals = true);

/// Indices of the links that moved any bytes, sorted by LinkUse::share, descending; ties go to the
/// link that was busy longer, then to the lower index. Shares that differ only by rounding are
/// ties.
[[nodiscard]] std::vector<std::size_t> busiest_links(const std::vector<LinkUse>& uses);
/// Name of a link of the fabric: "nic0 -> leaf3".
[[nodiscard]] std::string link_name(const Fabric& fabric, std::size_t link);

/// One firing of a graph node: a tile, or an iteration of a folded loop.
struct Firing {
  TransferId node = -1;
  std::int32_t tile = 0;
};
/// The chain of firings that determines the completion time of the simulated tiles, first to last:
/// each starts at the date at which the previous one is done. In a record of classes, the firings
/// are those of classes: a node need not be a neighbour of the next one's first node.
[[nodiscard]] std::vector<Firing> critical_path(const SimulationRecord& record);
/// The same with dates.
[[nodiscard]] std::vector<DatedFiring> dated_critical_path(const SimulationRecord& record);

}  // namespace cclgym
