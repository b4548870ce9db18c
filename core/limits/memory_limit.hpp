// How much memory and room on disks this process can still get, and refusals of work that needs
// more.
#pragma once

#include <string>

namespace cclgym {

struct MemoryLimit {
  double bytes = 0;    ///< memory that the process can still get
  std::string what{};  ///< the limit's name: "ulimit -v", "the control group", "this machine"
};

/// The tightest of RLIMIT_AS and RLIMIT_DATA, less what the process has already, the limit of its
/// control group (memory.max), and the memory and swap of the machine.
[[nodiscard]] MemoryLimit memory_limit();

/// Throws ResourceError "SUBJECT needs at least …; … allows …; SMALLER" if the work needs more
/// bytes than memory_limit(). `bytes` must be a lower bound, so that no work is refused that would
/// fit.
void require_memory(double bytes, const std::string& subject, const std::string& smaller);

/// Throws ResourceError if a file of `path`'s folder cannot grow by `added` bytes to `bytes` in
/// all: the limit on the size of files (ulimit -f), or the free space of the disk. Both must be
/// lower bounds. A folder that does not exist has no limit.
void require_room(const std::string& path, double bytes, double added, const std::string& smaller);

}  // namespace cclgym
