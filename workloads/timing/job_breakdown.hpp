// Breakdown of a step's time: by rank, by call, and along the critical path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/timing/job_simulator.hpp"

namespace cclgym {

/// Time of one rank, s. The first four parts add up to the step time.
struct RankTime {
  double compute_s = 0;  ///< at least one computation, but no communication (measured or not)
  double overlap_s = 0;  ///< computation and communication
  double exposed_s = 0;  ///< communication, but no computation; waiting for other ranks included
  double idle_s = 0;     ///< neither
  /// Part of compute_s and overlap_s in which the GPU only waits for its host (kHostIdleName).
  double host_idle_s = 0;
};

/// All calls of one communicator with the same collective, size and configuration.
struct CallSummary {
  std::int32_t communicator = 0;  ///< index into JobGraph::communicators
  /// AllToNext stands for messages between two ranks.
  CollectiveKind collective = CollectiveKind::AllReduce;
  bool message = false;
  std::uint64_t bytes = 0;  ///< as simulated
  int ranks = 0;            ///< size of the communicator
  Config config{};
  std::int64_t calls = 0;  ///< on one actor per class of ranks: how often a rank makes it, at most
  /// Mean time from the date at which the last rank reached the call until it was done, s.
  double time_s = 0;
  /// Mean time for which a rank waits for the last one, s.
  double wait_s = 0;
  /// Mean of the durations in the trace, in each call of the rank that waits least, s; 0: unknown.
  double measured_s = 0;
  /// Time in which the busiest rank has at least one of the calls in progress, s, waiting included:
  /// at most the step time, also if sends and receives overlap.
  double total_s = 0;
};

/// Part of the chain of operations that determines the step time.
struct PathSegment {
  std::size_t actor = 0;
  std::int32_t op = 0;
  double start_s = 0;
  double end_s = 0;
};

struct JobBreakdown {
  std::vector<RankTime> actors;  ///< by actor
  RankTime mean{};               ///< over all ranks of the job
  std::vector<CallSummary> calls;
  /// From the first operation to the last; each starts when the previous one is done.
  std::vector<PathSegment> path;
  double path_compute_s = 0;
  double path_host_idle_s = 0;              ///< part of path_compute_s (kHostIdleName)
  double path_measured_s = 0;               ///< communication as measured (JobOp::communicates)
  std::vector<double> path_communicator_s;  ///< by JobGraph::communicators
};

[[nodiscard]] JobBreakdown break_down(const JobGraph& job, const JobRecord& record);

}  // namespace cclgym
