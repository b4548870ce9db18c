// Comparison of names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

/// The name without '-' and '_', in ASCII small letters: "NVLS_Tree" and "nvls-tree" are equal.
[[nodiscard]] inline std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace cclgym
