// Texts cut at a separator.
#pragma once

#include <string_view>
#include <vector>

namespace cclgym {

/// The parts of a text between separators; at least one, and any of them may be empty. They point
/// into the text. `split("a,,b", ',')` is {"a", "", "b"}.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace cclgym
