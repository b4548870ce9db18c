// Table beside a timeline: the traffic on each link during the timeline's call.
#pragma once

#include <string>
#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// A link and its traffic during one call (LinkUse).
struct LinkRow {
  std::string link;  ///< "leaf0 -> spine"
  double wire_bytes = 0;
  double rate_GBps = 0;      ///< bytes moved over the time of the call, 1e9 B/s
  double capacity_GBps = 0;  ///< max rate of the link
  double share = 0;          ///< rate / capacity
  double busy_us = 0;        ///< time with at least one message on the link
};

/// Path of the table of a timeline: NAME.links.csv beside NAME.json.
[[nodiscard]] std::string link_table_path(const std::string& timeline_path);
/// Writes the links that carried messages as CSV, in descending order of their share. Throws
/// UserError if the file cannot be written.
void write_link_table(const std::string& path, const SimulationRecord& record,
                      const Fabric& fabric);
/// Reads a table of links. Throws UserError with the place of the error.
[[nodiscard]] std::vector<LinkRow> read_link_table(const std::string& path);

}  // namespace cclgym
