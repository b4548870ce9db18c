// Tests of the gate between the thread that makes calls and the one that takes part in agreements.
#include "deploy/agreement/call_gate.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

TEST_CASE("gate: calls stop at the limit and go on when it is raised", "[agreement]") {
  CallGate gate(7);
  std::uint32_t table = 0;
  REQUIRE(gate.limit_at(2));
  CHECK(gate.pass(table));
  CHECK(table == 7);
  CHECK(gate.pass(table));
  CHECK_FALSE(gate.pass(table));
  CHECK(gate.next() == 2);
  CHECK_FALSE(gate.limit_at(1));  // call 1 was made
  CHECK(gate.limit() == 2);
  gate.use(9);
  gate.raise_limit(CallGate::kNone);
  CHECK(gate.pass(table));
  CHECK(table == 9);
  CHECK(gate.next() == 3);
}

TEST_CASE("gate: no call passes a limit that was set, on two threads", "[agreement]") {
  constexpr std::uint64_t kCalls = kSanitized ? 20'000 : 400'000;
  CallGate gate(0);
  std::vector<std::uint64_t> limits;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      const std::uint64_t limit = gate.next() + 1;
      if (!gate.limit_at(limit)) continue;
      // The calling thread now cannot go beyond the limit.
      for (int i = 0; i < 20; ++i) {
        if (gate.next() > limit + 1) limits.push_back(limit);
      }
      gate.raise_limit(CallGate::kNone);
    }
  });
  std::uint32_t table = 0;
  for (std::uint64_t made = 0; made < kCalls;) made += gate.pass(table) ? 1U : 0U;
  done = true;
  other.join();
  CHECK(limits.empty());
  CHECK(gate.next() == kCalls);
}

}  // namespace cclgym::test
