#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "topology_models/fabric_file.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMostNames = 100'000;
constexpr std::size_t kLongestPattern = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The first "A..B" of a text: the positions of A and of the end of B, and the two numbers.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

std::optional<Range> find_range(std::string_view text) {
  for (std::size_t dots = text.find(".."); dots != std::string_view::npos;
       dots = text.find("..", dots + 1)) {
    Range range{dots, dots + 2};
    while (range.begin > 0 && is_digit(text[range.begin - 1])) --range.begin;
    while (range.end < text.size() && is_digit(text[range.end])) ++range.end;
    const char* data = text.data();
    const auto first = std::from_chars(data + range.begin, data + dots, range.first);
    const auto last = std::from_chars(data + dots + 2, data + range.end, range.last);
    if (first.ec == std::errc() && last.ec == std::errc()) return range;
  }
  return std::nullopt;
}

// Refuses "0...3": as a name it would be taken literally, and the range be missed.
void refuse_dots(std::string_view pattern, const SourceLocation& where) {
  for (std::size_t dots = pattern.find("..."); dots != std::string_view::npos;) {
    const std::size_t end = std::min(pattern.find_first_not_of('.', dots), pattern.size());
    if (dots > 0 && is_digit(pattern[dots - 1]) && end < pattern.size() && is_digit(pattern[end])) {
      throw UserError(where, fmt::format("name {}: a range has two dots (did you mean '{}..{}'?)",
                                         quoted(pattern, kLongestPattern), pattern.substr(0, dots),
                                         pattern.substr(end)));
    }
    dots = pattern.find("...", end);
  }
}

// The names of the rest of a pattern; messages quote `whole`.
std::vector<std::string> expand(std::string_view rest, std::string_view whole,
                                const SourceLocation& where) {
  const std::optional<Range> range = find_range(rest);
  if (!range) return {std::string(rest)};
  const auto refuse = [&](const std::string& why) {
    throw UserError(where, fmt::format("name {}: {}", quoted(whole, kLongestPattern), why));
  };
  if (range->first > range->last) {
    refuse(fmt::format("the range {}..{} counts down; expected the lesser number first",
                       range->first, range->last));
  }
  const std::string_view head = rest.substr(0, range->begin);
  const std::vector<std::string> tails = expand(rest.substr(range->end), whole, where);
  // Both are from 0 to 2^63 - 1, so that the difference cannot overflow.
  const auto steps = static_cast<std::size_t>(range->last - range->first);
  if (steps >= kMostNames || (steps + 1) * tails.size() > kMostNames) {
    refuse(fmt::format("stands for more than {} names", kMostNames));
  }
  std::vector<std::string> names;
  names.reserve((steps + 1) * tails.size());
  for (std::size_t step = 0; step <= steps; ++step) {
    const std::int64_t number = range->first + static_cast<std::int64_t>(step);
    for (const std::string& tail : tails) {
      names.push_back(fmt::format("{}{}{}", head, number, tail));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_names(std::string_view pattern, const SourceLocation& where) {
  if (pattern.size() > kLongestPattern) {
    throw UserError(where, fmt::format("a name of {} bytes; expected at most {}", pattern.size(),
                                       kLongestPattern));
  }
  refuse_dots(pattern, where);
  return expand(pattern, pattern, where);
}

}  // namespace cclgym
