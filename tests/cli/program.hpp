// Runs the program as a user does.
#pragma once

#include <array>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cclgym::test {

struct Ended {
  int code = -1;    ///< exit code; negative signal number if a signal ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs build/cclgym in a folder and waits for its end. Standard output goes to `out` unless it is
/// empty.
[[nodiscard]] Ended run_program(const std::vector<std::string>& args,
                                const std::string& folder = ".", const std::string& out = "");

/// State of a program's descriptor 0, 1 or 2.
enum class Stream {
  Kept,    ///< input: /dev/null; output and errors: kept in Ended
  Closed,  ///< the descriptor is not open
  Full,    ///< opened on /dev/full
  Unread   ///< opened on a pipe without a reader
};

/// Runs a program (default: build/cclgym) with these standard streams.
[[nodiscard]] Ended run_with_streams(const std::vector<std::string>& args,
                                     const std::string& folder,
                                     const std::array<Stream, 3>& streams,
                                     const std::string& program = "");

/// Starts the program in a process group of its own and returns its process id. Standard output is
/// discarded; standard error goes to `err`.
[[nodiscard]] pid_t start_program(const std::vector<std::string>& args,
                                  const std::string& err = "/dev/null");

/// True if a child has ended. Its exit status can still be waited for.
[[nodiscard]] bool has_ended(pid_t child);

/// Waits until no process of a started program's group is left. Workers of a program that was
/// killed keep its files locked until they have noticed.
void wait_for_group(pid_t program);

}  // namespace cclgym::test
