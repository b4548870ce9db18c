// Start of a process as one of several ranks: by mpirun, srun or another launcher of MPI.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ranks/rank_link.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {

struct LaunchedRank {
  std::size_t rank = 0;
  std::size_t ranks = 1;
};

/// Rank of this process, as the environment says that a launcher gives it; nullopt if no launcher
/// started it, or started it alone. Does not start MPI.
[[nodiscard]] std::optional<LaunchedRank> launched_rank();

/// Starts the communication between the ranks, for a program that has no tasks of TaskPlace. Blocks
/// until all ranks call it. Throws UserError if the program is without MPI.
[[nodiscard]] std::unique_ptr<RankLink> open_rank_link(const std::vector<std::string>& args);

/// Runs a command with these arguments on all ranks. Rank 0 runs it in this process, with its tasks
/// on all ranks; a process that is forked here runs it on each node up to its tasks. The command
/// gives its tasks to the place that it gets (TaskOptions::place). Returns the exit code: on rank
/// 0 that of the command, on other ranks 0. Throws UserError if the program is without MPI.
[[nodiscard]] int run_on_ranks(const std::vector<std::string>& args,
                               const std::function<int(TaskPlace* place)>& command);

}  // namespace cclgym
