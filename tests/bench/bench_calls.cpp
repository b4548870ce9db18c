// Latency of a call in the closed loop while no table changes (docs/closed-loop.md).
//
//     bench_calls
//
// prints the 99th percentile of the time of a call that passes the gate alone, and of one whose key
// is hashed, too.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "deploy/agreement/call_gate.hpp"
#include "deploy/loop/loop_group.hpp"

namespace {

using namespace cclgym;

// Prints the 99th percentile of the time of `call`. Ten calls are timed together, since reading the
// clock takes as long as one. Returns false if a call failed.
template <class Call>
bool print_latency(const char* name, const Call& call) {
  constexpr int kSamples = 20'000;
  constexpr int kTogether = 10;
  std::vector<double> times_ns;
  bool made = true;
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTogether; ++i) made = call() && made;
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    times_ns.push_back(time.count() / kTogether);
  }
  std::ranges::sort(times_ns);
  std::printf("%-5s 99th percentile of a call %7.1f ns\n", name,
              times_ns[times_ns.size() * 99 / 100]);
  return made;
}

}  // namespace

int main() {
  CallGate gate(0);
  std::uint32_t table = 0;
  const bool passed = print_latency("gate", [&] { return gate.pass(table); });

  ListeningSocket listener;
  std::vector<RankAddress> addresses{{"127.0.0.1", listener.port(), 0}};
  LoopGroup group(0, std::move(addresses), 1, std::move(listener), "first");
  std::uint64_t key = 0;
  const bool made = print_latency("loop", [&] { return group.begin_call(key++).has_value(); });
  return passed && made ? 0 : 1;
}
