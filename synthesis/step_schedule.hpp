// Synchronous schedules (SCCL): sends in steps, each of a number of rounds.
#pragma once

#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::synthesis {

/// One send of a chunk along a hop, in a step (counted from 0).
struct StepSend {
  int step = 0;
  int chunk = 0;  ///< index into Demand::chunks
  int hop = 0;    ///< index into Instance::hops
  friend auto operator<=>(const StepSend&, const StepSend&) = default;
};

/// (Q, T) of SCCL, section 3.3: the rounds of each step, and the sends, in ascending order.
struct StepSchedule {
  std::vector<int> rounds{};  ///< by step, each >= 1
  std::vector<StepSend> sends{};

  [[nodiscard]] int steps() const { return static_cast<int>(rounds.size()); }  ///< S
  [[nodiscard]] int total_rounds() const;                                      ///< R
};

/// Replays a schedule: ranks hold the chunks that they send at the start of the step, no limit
/// carries more than units x rounds chunks in a step, and all demands are met at the end. Returns
/// the first problem in words; empty if there is none. It uses nothing of the code that makes
/// schedules.
[[nodiscard]] std::string check_schedule(const Instance& instance, const Demand& demand,
                                         const StepSchedule& schedule);

}  // namespace cclgym::synthesis
