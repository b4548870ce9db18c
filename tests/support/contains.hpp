// True if a text has a part, for checks of messages and files.
#pragma once

#include <string_view>

namespace cclgym::test {

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace cclgym::test
