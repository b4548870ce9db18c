#include "experiments/measured/log_lines.hpp"

#include <algorithm>
#include <regex>

namespace cclgym {

namespace {

// One addition in front of a line, in this order: OpenMPI's stream, with a rank or a time; a date
// and time of an ISO form, with the stream of a container or journalctl's host and program; a date
// and time as ctime prints them; the same without weekday and year, with journalctl's host and
// program; something in brackets, such as a rank or a pod; a rank of srun; a host of pdsh or a
// service of docker compose, if what follows is a comment, a date or a line of results.
const std::regex& addition() {
  static const std::regex pattern(
      R"([^#]{0,80}?<std(?:out|err|diag)>:)"
      R"(|[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?)"
      R"((?: std(?:out|err) [FP]| \S+ \S+\[\d+\]:)?(?:[ \t]|$))"
      R"(|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4}(?:[ \t]|$))"
      R"(|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?: \S+ \S+\[\d+\]:)?(?:[ \t]|$))"
      R"(|\[[^\]]{0,120}\](?::|(?=[ \t])|$))"
      R"(|[ \t]*\d+:(?=[ \t]|$))"
      R"(|[\w.-]+(?::|[ \t]*\|)(?=[ \t]+(?:#|\d{4}-\d\d-\d\d[T ]|\d+[ \t]+[\d.]+(?:[ \t]|$))))",
      std::regex::ECMAScript | std::regex::optimize);
  return pattern;
}

// Number of bytes that stand in front of what the program printed.
std::size_t prefix_of(const std::string& line) {
  constexpr int kMostAdditions = 4;
  constexpr std::size_t kLongest = 200;
  std::size_t at = 0;
  for (int i = 0; i < kMostAdditions; ++i) {
    const auto from = line.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to =
        line.begin() + static_cast<std::ptrdiff_t>(std::min(line.size(), at + kLongest));
    std::smatch found;
    if (!std::regex_search(from, to, found, addition(), std::regex_constants::match_continuous)) {
      break;
    }
    at += static_cast<std::size_t>(found.length());
  }
  return at;
}

// The text without escape sequences: ESC, [, parameters and a letter.
std::string without_colours(std::string_view text) {
  static const std::regex sequence("\x1b\\[[0-?]*[ -/]*[@-~]");
  std::string plain(text);
  if (plain.find('\x1b') == std::string::npos) return plain;
  return std::regex_replace(plain, sequence, "");
}

}  // namespace

void for_each_log_line(std::string_view log, const std::function<void(const LogLine&)>& use) {
  std::size_t number = 0;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string plain = without_colours(line);
    const std::size_t prefix = prefix_of(plain);
    use({++number, prefix + 1, plain.substr(prefix)});
    log.remove_prefix(std::min(end + 1, log.size()));
  }
}

std::size_t nccl_thread_start(std::string_view line, std::size_t level) {
  std::string_view front = line.substr(0, level);
  const auto drop_blanks = [&] {
    while (front.ends_with(' ')) front.remove_suffix(1);
  };
  drop_blanks();
  // A warning has its place in NCCL's source, too: "misc/socket.cc:100".
  const std::string_view place = front.substr(front.find_last_of(" \t") + 1);
  if (place.find(".cc:") != std::string_view::npos || place.find(".h:") != std::string_view::npos) {
    front.remove_suffix(place.size());
    drop_blanks();
  }
  if (front.ends_with(']')) front = front.substr(0, front.rfind('['));  // "[0]": the device
  drop_blanks();
  const std::size_t blank = front.find_last_of(" \t");
  return blank == std::string_view::npos ? 0 : blank + 1;
}

}  // namespace cclgym
