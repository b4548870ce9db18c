// Lines of a log as the program printed them, without what launchers and terminals add.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace cclgym {

/// A line without its additions.
struct LogLine {
  std::size_t number = 0;  ///< from 1
  std::size_t column = 1;  ///< place of the text's first byte in the line, from 1
  std::string text;
};

/// Calls `use` with each line of a log, without colours (ANSI escape sequences), carriage returns
/// and what stands in front of a line if a launcher printed it: the rank (srun -l, mpiexec -l or
/// -prepend-rank, torchrun), the stream (mpirun --tag-output, --timestamp-output), the host, pod or
/// service (pdsh, kubectl --prefix, docker compose) and the time (kubectl --timestamps, ts,
/// journalctl). Several may stand in front of one line.
void for_each_log_line(std::string_view log, const std::function<void(const LogLine&)>& use);

}  // namespace cclgym
