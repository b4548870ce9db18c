// How much each link moved in a call that a timeline was written of: a table beside the timeline.
#pragma once

#include <string>
#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// A link, and what it moved in one call (LinkUse).
struct LinkRow {
  std::string link;  ///< "leaf0 -> spine"
  double wire_bytes = 0;
  double rate_GBps = 0;      ///< of these over the time of the call, 1e9 B/s
  double capacity_GBps = 0;  ///< what it could have moved
  double share = 0;          ///< rate / capacity
  double busy_us = 0;        ///< with at least one message moving
};

/// The path of the table that belongs to a timeline: NAME.links.csv beside NAME.json.
[[nodiscard]] std::string link_table_path(const std::string& timeline_path);
/// Writes the links that moved anything, the nearest to its capacity first, as CSV. Throws
/// UserError if it cannot be written.
void write_link_table(const std::string& path, const SimulationRecord& record,
                      const Fabric& fabric);
/// Reads such a table. Throws UserError with the place of what is wrong.
[[nodiscard]] std::vector<LinkRow> read_link_table(const std::string& path);

}  // namespace cclgym
