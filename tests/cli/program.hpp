// The program as a user starts it.
#pragma once

#include <array>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cclgym::test {

struct Ended {
  int code = -1;    ///< exit code; minus the signal if one ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs build/cclgym in a folder and waits for its end. Standard output goes to `out` if that is
/// not empty.
[[nodiscard]] Ended run_program(const std::vector<std::string>& args,
                                const std::string& folder = ".", const std::string& out = "");

/// What a program finds at one of the descriptors 0 to 2.
enum class Stream {
  Kept,    ///< input: /dev/null; output and errors: kept in Ended
  Closed,  ///< the descriptor is not open
  Full,    ///< /dev/full
  Unread   ///< a pipe that nobody reads
};

/// Runs a program (build/cclgym unless `program` says another) with such streams.
[[nodiscard]] Ended run_with_streams(const std::vector<std::string>& args,
                                     const std::string& folder,
                                     const std::array<Stream, 3>& streams,
                                     const std::string& program = "");

/// Starts it in a process group of its own and returns its process id. Output is thrown away, but
/// standard error goes to `err`.
[[nodiscard]] pid_t start_program(const std::vector<std::string>& args,
                                  const std::string& err = "/dev/null");

}  // namespace cclgym::test
