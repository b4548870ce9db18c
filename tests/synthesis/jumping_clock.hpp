// A clock for tests of deadlines.
#pragma once

#include <memory>

#include "core/progress.hpp"

namespace cclgym::test {

/// A clock that stands still for so many readings and is then past every deadline. Its copies are
/// one clock.
[[nodiscard]] inline Clock late_after(int readings) {
  return [left = std::make_shared<int>(readings)] { return (*left)-- > 0 ? 0.0 : 1e9; };
}

}  // namespace cclgym::test
