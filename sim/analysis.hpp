// What a simulated call did: dates of every step, use of every link, the critical path.
#pragma once

#include <vector>

#include "sim/simulator.hpp"

namespace cclgym {

/// When one step of a thread block ran. A send runs while its message moves; a receive from the end
/// of the block's previous step until its message has arrived.
struct StepTime {
  int rank = 0;
  int thread_block = 0;
  int step = 0;
  double start_s = 0;
  double end_s = 0;
  TransferId flow = -1;  ///< the message it sends or receives, -1: none
};
/// Every step, ordered by rank, thread block, step.
[[nodiscard]] std::vector<StepTime> step_times(const SimulationRecord& record);

/// One message on one link.
struct LinkInterval {
  TransferId flow = -1;
  double start_s = 0;  ///< first byte
  double end_s = 0;    ///< last byte
};

/// Use of one link.
struct LinkUse {
  double bytes = 0;                     ///< bytes on the wire, protocol flags included
  double busy_s = 0;                    ///< time with at least one message moving
  std::vector<LinkInterval> intervals;  ///< by start date
};
/// By link of the fabric.
[[nodiscard]] std::vector<LinkUse> link_use(const SimulationRecord& record);

/// The chain of nodes that determines the completion time, first to last: each starts at the date
/// at which the one before it is done.
[[nodiscard]] std::vector<TransferId> critical_path(const SimulationRecord& record);

}  // namespace cclgym
