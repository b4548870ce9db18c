// Cost of a call while no table changes.
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "deploy/loop/loop_group.hpp"
#include "support/allocations.hpp"
#include "support/call_latency.hpp"
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
  const double p99_us = p99_call_us([&] { sum += group->begin_call(sum).has_value() ? 1U : 0U; });
  CHECK(sum == kTimedCalls);
  CHECK(p99_us < 0.3);
}

}  // namespace cclgym::test
