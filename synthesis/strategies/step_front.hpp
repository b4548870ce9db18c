// SCCL's front: schedules of as few steps, and as few rounds per chunk, as possible.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/step_schedule.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym::synthesis {

struct StepFrontOptions {
  int root = 0;
  std::vector<int> group{};
  /// Rounds per chunk that no schedule beats, with any number of steps; 0: unknown. The front ends
  /// at a schedule that reaches it.
  Rational min_rounds{0};
  int max_chunks = 12;      ///< per rank or pair
  int max_extra_steps = 6;  ///< beyond the fewest
  double time_limit_s = 60;
  std::function<void(const std::string&)> on_progress{};
};

/// A schedule with the fewest rounds per chunk that were found for its number of steps.
struct StepFrontPoint {
  int chunks = 1;          ///< per rank or pair
  Rational rounds{0};      ///< per chunk
  Rational min_rounds{0};  ///< per chunk: bound for this number of steps and any number of chunks
  StepSchedule schedule{};
};

struct StepFront {
  int min_steps = 0;                     ///< longest distance from a chunk's source to a target
  std::vector<StepFrontPoint> points{};  ///< by steps, each with fewer rounds than the one before
  bool complete = false;  ///< true if every point reaches its bound, and the last one min_rounds
  std::vector<std::string> notes{};  ///< sentences about limits that were reached
};

/// Enumerates the steps from the fewest on (SCCL, Algorithm 1). For each, a linear program bounds
/// the rounds per chunk for all numbers of chunks at once, and schedules are searched at that bound
/// and then above it. `collective` copies (make_demand). Throws UserError as make_demand does.
[[nodiscard]] StepFront step_front(const Instance& instance, CollectiveKind collective,
                                   const StepFrontOptions& options = {});

}  // namespace cclgym::synthesis
