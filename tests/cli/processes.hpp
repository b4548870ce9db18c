// Processes of a run under mpirun, as tests see and stop them.
#pragma once

#include <sys/types.h>
#include <vector>

namespace cclgym::test {

/// Processes of a run by their place: ranks are children of mpirun, hosts of ranks, simulators of
/// hosts.
struct Processes {
  std::vector<pid_t> ranks;  ///< by rank
  std::vector<pid_t> hosts;
  std::vector<pid_t> simulators;
};

/// Parent of a process; 0 if it has ended.
[[nodiscard]] pid_t parent_of(pid_t process);

/// Processes below `mpirun`; hosts and simulators in ascending order of their process ids.
[[nodiscard]] Processes processes_of(pid_t mpirun);

/// True if a process ends within `limit_s` seconds.
[[nodiscard]] bool ends_within(pid_t process, double limit_s);

/// Waits for the end of a child and returns its exit code, or 128 + the signal that ended it; kills
/// it and returns -1 after `limit_s` seconds.
[[nodiscard]] int exit_code_of(pid_t process, double limit_s);

}  // namespace cclgym::test
