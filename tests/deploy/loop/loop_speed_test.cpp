// Cost of a call while no table changes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "deploy/loop/loop_group.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

std::unique_ptr<LoopGroup> single_rank() {
  ListeningSocket listener;
  std::vector<RankAddress> addresses{{"127.0.0.1", listener.port(), 0}};
  return std::make_unique<LoopGroup>(0, std::move(addresses), 1, std::move(listener), "first");
}

}  // namespace

TEST_CASE("loop group: a call and its report allocate nothing") {
  const auto group = single_rank();
  (void)group->begin_call(1);
  // The group's thread may allocate; it has nothing to do after this wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const long before = allocations();
  for (std::uint64_t call = 0; call < 1000; ++call) (void)group->begin_call(call);
  CHECK(allocations() == before);
  CHECK(group->status().calls == 1001);
}

TEST_CASE("loop group: the 99th percentile of a call is below 0.3 us", "[.][speed]") {
  const auto group = single_rank();
  std::uint64_t sum = 0;
  std::vector<double> times_us;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t k = 0; k < 10; ++k) sum += group->begin_call(k).has_value() ? 1U : 0U;
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    times_us.push_back(time.count() / 10);
  }
  CHECK(sum == 200'000);
  std::ranges::sort(times_us);
  const double p99_us = times_us[times_us.size() * 99 / 100];
  std::printf("99th percentile of a call: %.1f ns\n", 1000 * p99_us);
  CHECK(p99_us < 0.3);
}

}  // namespace cclgym::test
