// Schedules on a time grid (TE-CCL): each send has a start, occupies its limits for a while, and
// arrives after its latency.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::synthesis {

/// An instance with times in whole ticks.
struct TimedInstance {
  Instance instance{};
  double tick_s = 1;  ///< length of a tick, s
  /// Ticks for which a chunk occupies a limit, by limit, >= 1: a limit carries at most one chunk at
  /// a time.
  std::vector<int> occupancy{};
  /// Ticks from a send's start until the target holds the chunk and may send it on, by hop:
  /// max occupancy of its limits + latency.
  std::vector<int> duration{};
  /// By rank: true if the rank is a switch, which holds nothing: it sends a chunk only at a tick at
  /// which the chunk arrives, to any number of hops (it copies). Empty: no rank is a switch. A
  /// switch has no part in the demand.
  std::vector<char> switches{};

  [[nodiscard]] bool is_switch(int rank) const {
    return !switches.empty() && switches[static_cast<std::size_t>(rank)] != 0;
  }
};

/// One send of a chunk along a hop that starts at a tick.
struct TimedSend {
  int start = 0;
  int chunk = 0;
  int hop = 0;
  friend auto operator<=>(const TimedSend&, const TimedSend&) = default;
};

struct TimedSchedule {
  int ticks = 0;                   ///< all demands are met at this tick
  std::vector<TimedSend> sends{};  ///< ascending
};

/// Replays a schedule: a rank holds a chunk when it starts to send it (a switch: receives it at
/// this tick), a limit carries one chunk at a time, and all demands are met at `ticks`. Returns the
/// first problem in words; empty if there is none.
[[nodiscard]] std::string check_schedule(const TimedInstance& instance, const Demand& demand,
                                         const TimedSchedule& schedule);

/// Timed form of an instance for chunks of `chunk_bytes`: the tick is the greatest common divisor
/// of all occupancies (chunk_bytes / bandwidth) and latencies, in whole multiples of `grid_s`, so
/// that nothing is rounded; if a time is no multiple of grid_s (to 1e-6 of it), throws UserError. A
/// latency of a hop counts once, for its entire route.
[[nodiscard]] TimedInstance make_timed_instance(const Instance& instance, double chunk_bytes,
                                                double grid_s = 1e-9);

}  // namespace cclgym::synthesis
