// Processes of a run under mpirun, as tests see and stop them.
#pragma once

#include <map>
#include <sys/types.h>
#include <vector>

namespace cclgym::test {

/// Processes of a run by their place: ranks are children of mpirun, hosts of ranks, simulators of
/// hosts.
struct Processes {
  std::vector<pid_t> ranks;  ///< by rank
  std::vector<pid_t> hosts;
  std::vector<pid_t> simulators;
  std::map<pid_t, pid_t> parents;  ///< parents of these processes
};

/// Parent of a process; 0 if it has ended.
[[nodiscard]] pid_t parent_of(pid_t process);

/// Processes below `mpirun`; hosts and simulators in ascending order of their process ids.
[[nodiscard]] Processes processes_of(pid_t mpirun);

/// Waits for the end of a process. False if it hangs (comes_true).
[[nodiscard]] bool ends(pid_t process);

/// Waits for the end of a child and returns its exit code, or 128 + the signal that ended it. Kills
/// it and returns -1 if it hangs (comes_true).
[[nodiscard]] int exit_code_of(pid_t child);

}  // namespace cclgym::test
