// A clock for LoopOptions::clock that a test moves, so that limits end after what the test has
// seen, and not after a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace cclgym::test {

/// Stands still unless it is told otherwise. Any thread may call it; it must outlive its readers.
class PlayedClock {
 public:
  [[nodiscard]] double now_s() const { return 1e-6 * static_cast<double>(now_us_); }
  void advance(double by_s) { now_us_ += microseconds(by_s); }
  /// From now on, each reading advances the clock.
  void advance_at_readings(double by_s) { at_reading_us_ = microseconds(by_s); }
  [[nodiscard]] std::function<double()> reader() {
    return [this] { return 1e-6 * static_cast<double>(now_us_ += at_reading_us_); };
  }

 private:
  static std::int64_t microseconds(double time_s) {
    return static_cast<std::int64_t>(1e6 * time_s);
  }

  std::atomic<std::int64_t> now_us_ = 0;
  std::atomic<std::int64_t> at_reading_us_ = 0;
};

}  // namespace cclgym::test
