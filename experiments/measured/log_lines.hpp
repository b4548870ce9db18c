// Lines of a log as the program printed them, without what launchers and terminals add, and words
// in them.
#pragma once

#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
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

/// Place of the first byte of "alpha0:7000:7100" in a line of NCCL_DEBUG, "alpha0:7000:7100 [0]
/// NCCL INFO …", whose level ("NCCL INFO") is at `level`. Other output may stand in front of it.
[[nodiscard]] std::size_t nccl_thread_start(std::string_view line, std::size_t level);

/// The number that the whole text is; nullopt if it is something else.
template <class Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cclgym
