// Waiting for other processes and threads, however slow the machine is.
#pragma once

#include <chrono>
#include <thread>

namespace cclgym::test {

/// Looks every few milliseconds until `condition()` is true. Returns false after a number of looks
/// that takes over a quarter of an hour, which only a hang reaches.
template <class Condition>
[[nodiscard]] bool comes_true(const Condition& condition) {
  constexpr int kMostLooks = 200'000;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace cclgym::test
