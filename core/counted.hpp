// Numbers in messages.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace cclgym {

/// counted(1, "chunk") is "1 chunk", counted(2, "chunk") is "2 chunks".
template <class Number>
[[nodiscard]] std::string counted(Number number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == Number{1} ? "" : "s");
}

/// The share as a percentage with as many digits as it needs, at most six: "90 %", "99.9 %".
[[nodiscard]] inline std::string percent_text(double share) {
  return fmt::format("{:.6g} %", 100 * share);
}

/// The sizes in bytes, at least one: "size 1KiB", "3 sizes from 1KiB to 4KiB".
[[nodiscard]] inline std::string sizes_text(const std::set<std::uint64_t>& sizes) {
  const std::string least = format_bytes(*sizes.begin());
  if (sizes.size() == 1) return "size " + least;
  return fmt::format("{} sizes from {} to {}", sizes.size(), least, format_bytes(*sizes.rbegin()));
}

}  // namespace cclgym
