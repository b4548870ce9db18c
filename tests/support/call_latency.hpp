// Latency of short calls, for the hidden tests of speed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace cclgym::test {

/// Number of calls that p99_call_us makes.
inline constexpr std::uint64_t kTimedCalls = 200'000;

/// Measures and prints the 99th percentile of the time of `call`, us. Ten calls are timed together,
/// since reading the clock takes as long as one.
template <class Call>
double p99_call_us(const Call& call) {
  constexpr int kTogether = 10;
  std::vector<double> times_us;
  for (std::uint64_t made = 0; made < kTimedCalls; made += kTogether) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTogether; ++i) call();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    times_us.push_back(time.count() / kTogether);
  }
  std::ranges::sort(times_us);
  const double p99_us = times_us[times_us.size() * 99 / 100];
  std::printf("99th percentile of a call: %.1f ns\n", 1000 * p99_us);
  return p99_us;
}

}  // namespace cclgym::test
