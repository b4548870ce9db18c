#include "experiments/measured/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace cclgym {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Length of the longest prefix whose characters the predicate accepts.
template <class Accepts>
std::size_t run_of(std::string_view text, Accepts accepts) {
  const auto end = std::find_if_not(text.begin(), text.end(), accepts);
  return static_cast<std::size_t>(end - text.begin());
}

std::size_t blanks(std::string_view text) {
  return run_of(text, [](char c) { return c == ' ' || c == '\t'; });
}

// Length of a prefix like the pattern, in which 0 stands for any digit; 0 if it is not one.
std::size_t like(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool same = pattern[i] == '0' ? is_digit(text[i]) : pattern[i] == text[i];
    if (!same) return 0;
  }
  return pattern.size();
}

// Length of "08:00:01", "08:00:01.123", "08:00:01,123Z" or "08:00:01.5+02:00".
std::size_t time_of_day(std::string_view text) {
  std::size_t length = like(text, "00:00:00");
  if (length == 0) return 0;
  if (length < text.size() && (text[length] == '.' || text[length] == ',')) {
    length += 1 + run_of(text.substr(length + 1), is_digit);
  }
  const std::string_view zone = text.substr(length);
  if (zone.starts_with('Z')) return length + 1;
  if (zone.starts_with('+') || zone.starts_with('-')) {
    for (const std::string_view pattern : {"00:00", "0000"}) {
      if (const std::size_t found = like(zone.substr(1), pattern)) return length + 1 + found;
    }
  }
  return length;
}

// Length of a date and time: "2026-05-04T08:00:01Z", "May  4 08:00:01", "Mon May  4 08:00:01 2026".
std::size_t timestamp(std::string_view text) {
  if (const std::size_t date = like(text, "0000-00-00")) {
    if (date == text.size() || (text[date] != 'T' && text[date] != ' ')) return 0;
    const std::size_t time = time_of_day(text.substr(date + 1));
    return time == 0 ? 0 : date + 1 + time;
  }
  std::size_t at = 0;
  int words = 0;
  for (; words < 2; ++words) {  // a weekday and a month, or only a month
    if (run_of(text.substr(at), is_letter) != 3) return 0;
    at += 3;
    const std::size_t gap = blanks(text.substr(at));
    if (gap == 0) return 0;
    at += gap;
    if (at < text.size() && is_digit(text[at])) break;
  }
  const std::size_t day = run_of(text.substr(at), is_digit);
  if (day == 0 || day > 2) return 0;
  at += day + blanks(text.substr(at + day));
  const std::size_t time = time_of_day(text.substr(at));
  if (time == 0) return 0;
  at += time;
  // Only a date with its weekday has a year: what follows others may be a size.
  return words == 0 ? at : at + like(text.substr(at), " 0000");
}

// Length of "[1,0]<stdout>:" or "Mon May  4 08:00:01 2026<stderr>:" (OpenMPI).
std::size_t stream_tag(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  constexpr std::array<std::string_view, 3> kStreams{"<stdout>:", "<stderr>:", "<stddiag>:"};
  for (const std::string_view stream : kStreams) {
    const std::size_t found = text.substr(0, kLongest).find(stream);
    if (found != std::string_view::npos) return found + stream.size();
  }
  return 0;
}

// Length of "[0] ", "[rank0]: ", "[pod/name/container] ".
std::size_t bracket(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  if (!text.starts_with('[')) return 0;
  const std::size_t end = text.substr(0, kLongest).find(']');
  if (end == std::string_view::npos) return 0;
  const std::size_t length = end + 1;
  if (text.substr(length).starts_with(':')) return length + 1;
  return length == text.size() || text[length] == ' ' || text[length] == '\t' ? length : 0;
}

// True for a comment or for numbers of results: "4096 1024 float".
bool of_test(std::string_view text) {
  if (text.starts_with('#')) return true;
  for (int words = 0; words < 2; ++words) {
    const std::size_t digits = run_of(text, is_digit);
    const std::size_t gap = digits == 0 ? 0 : blanks(text.substr(digits));
    if (gap == 0) return false;
    text.remove_prefix(digits + gap);
  }
  return true;
}

// Length of " 0: " (srun -l) and, in front of what nccl-tests prints, "alpha0: " (pdsh) and
// "worker-1  | " (docker compose).
std::size_t source(std::string_view text) {
  const std::size_t start = blanks(text);
  const std::size_t word = run_of(text.substr(start), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  });
  if (word == 0) return 0;
  std::size_t at = start + word;
  const std::string_view name = text.substr(start, word);
  const bool rank = std::all_of(name.begin(), name.end(), is_digit);
  const bool colon = text.substr(at).starts_with(':');
  if (!colon) {
    at += blanks(text.substr(at));
    if (!text.substr(at).starts_with('|')) return 0;
  }
  ++at;
  if (at < text.size() && text[at] != ' ' && text[at] != '\t') return 0;
  if (rank && colon) return at;
  return of_test(text.substr(at + blanks(text.substr(at)))) ? at : 0;
}

// Length of what follows a time: "stdout F " (containers) or "host program[pid]: " (journalctl).
std::size_t after_time(std::string_view text) {
  for (const std::string_view stream : {"stdout ", "stderr "}) {
    if (!text.starts_with(stream) || text.size() < stream.size() + 2) continue;
    const char part = text[stream.size()];
    if ((part == 'F' || part == 'P') && text[stream.size() + 1] == ' ') return stream.size() + 2;
  }
  constexpr std::size_t kLongest = 120;
  const std::size_t end = text.substr(0, kLongest).find("]: ");
  if (end == std::string_view::npos) return 0;
  const std::string_view name = text.substr(0, end);
  const std::size_t open = name.find('[');
  const bool program = open != std::string_view::npos && open > 0 &&
                       run_of(name.substr(open + 1), is_digit) == name.size() - open - 1 &&
                       std::count(name.begin(), name.end(), ' ') == 1;
  return program ? end + 3 : 0;
}

// Number of bytes that stand in front of what the program printed.
std::size_t prefix_of(std::string_view line) {
  std::size_t at = 0;
  constexpr int kMostPrefixes = 4;
  for (int i = 0; i < kMostPrefixes; ++i) {
    const std::string_view text = line.substr(at);
    std::size_t length = stream_tag(text);
    if (length == 0) {
      if (const std::size_t time = timestamp(text)) {
        length = time;
        const std::size_t gap = blanks(text.substr(time));
        if (gap > 0) length += 1;
        if (gap == 1) length += after_time(text.substr(length));
      }
    }
    if (length == 0) length = bracket(text);
    if (length == 0) length = source(text);
    if (length == 0) break;
    at += length;
  }
  return at;
}

// The text without escape sequences: ESC, [, parameters and a letter.
std::string without_colours(std::string_view text) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      plain += text[i];
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;
    i += 2;
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
  }
  return plain;
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

}  // namespace cclgym
