// Waiting for other processes and threads, however slow the machine is.
#pragma once

#include <chrono>
#include <thread>

namespace cclgym::test {

/// Looks that take over a quarter of an hour, which only a hang reaches.
inline constexpr int kLooksOfHang = 200'000;

/// Looks every 5 ms until `condition()` is true. Returns false if it was false at all looks.
template <class Condition>
[[nodiscard]] bool comes_true(const Condition& condition, int most_looks = kLooksOfHang) {
  for (int looks = 0; looks < most_looks; ++looks) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace cclgym::test
