// Matchers that have different names in the two versions of Catch2.
#pragma once

#include <string>

#include "support/catch.hpp"

namespace cclgym::test {

/// Matches texts that contain `part`.
inline auto has_text(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace cclgym::test
