// The process of a node that runs its tasks. It has no MPI: it is forked before MPI starts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tasks/run_tasks.hpp"

namespace cclgym {

/// Runs a command whose tasks come from rank 0 by way of the courier at the other end of `channel`.
/// Its output is dropped; if it fails before it has tasks to serve, rank 0 gets the message of its
/// error. Dies with the courier.
[[noreturn]] void run_as_host(int channel, pid_t courier,
                              const std::function<int(TaskPlace*)>& command);

}  // namespace cclgym
