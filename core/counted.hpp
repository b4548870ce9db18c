// Numbers of things in messages.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace cclgym {

/// counted(1, "chunk") is "1 chunk", counted(2, "chunk") is "2 chunks".
template <class Number>
[[nodiscard]] std::string counted(Number number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == Number{1} ? "" : "s");
}

}  // namespace cclgym
