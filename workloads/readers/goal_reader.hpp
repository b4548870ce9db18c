// Schedules in GOAL, the language of LogGOPSim and ATLAHS (Hoefler, Siebert and Lumsdaine, "Group
// Operation Assembly Language", ICPP 2009; "LogGOPSim", HPDC 2010), as jobs.
#pragma once

#include <string>
#include <string_view>

#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/job_limits.hpp"

namespace cclgym {

/// Reads a schedule; `file` is used in messages and as RankProgram::file. All ranks form one group,
/// "world". Throws UserError with file:line:column.
///
/// GOAL orders operations only by their dependencies; a job's streams add an order:
/// - the calcs of a CPU share a stream ("cpu 0"), in the order in which they become ready if
///   messages take no time;
/// - a message gets a stream ("nic 0 lane 2") of its own, or one whose last message it follows
///   anyway. Beyond 4,096 such streams on a rank, messages queue behind earlier ones.
/// "a irequires b" (b has started) becomes a dependency on a compute operation of no time, named
/// "start", which comes immediately before b on its stream.
[[nodiscard]] JobGraph read_goal(std::string_view text, const std::string& file,
                                 const JobLimits& limits = {});
/// Reads a file of at most 512 MiB as read_goal does. Throws UserError if it cannot be read.
[[nodiscard]] JobGraph read_goal_file(const std::string& path, const JobLimits& limits = {});

}  // namespace cclgym
