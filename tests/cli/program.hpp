// The program as a user starts it.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace cclgym::test {

struct Ended {
  int code = -1;    ///< exit code; -1 if a signal ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs build/cclgym in a folder and waits for its end. Standard output goes to `out` if that is
/// not empty.
[[nodiscard]] Ended run_program(const std::vector<std::string>& args,
                                const std::string& folder = ".", const std::string& out = "");

/// Starts it in a process group of its own and returns its process id. Output is thrown away, but
/// standard error goes to `err`.
[[nodiscard]] pid_t start_program(const std::vector<std::string>& args,
                                  const std::string& err = "/dev/null");

}  // namespace cclgym::test
