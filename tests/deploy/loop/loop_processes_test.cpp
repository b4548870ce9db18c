// Groups whose ranks are processes, some of which are killed: the ranks that live use the same
// table for the same call, and make all calls.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/random.hpp"
#include "deploy/loop/loop_group.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

namespace {

constexpr std::size_t kMostRanks = 64;
constexpr std::uint64_t kMostCalls = 1'000'000;

/// Memory that the processes share.
struct Shared {
  std::atomic<std::uint64_t> made[kMostRanks];
  std::atomic<bool> alive[kMostRanks];
  std::atomic<std::uint64_t> changes;
  std::atomic<std::uint64_t> disagreements;
  std::atomic<std::uint64_t> not_made;              ///< ranks that were not allowed to make a call
  std::atomic<std::uint32_t> table_of[kMostCalls];  ///< table + 1; 0: no rank has made the call
};

struct ProcessRun {
  std::size_t ranks = 8;
  std::uint64_t calls = 20'000;
  std::size_t kills = 0;
  bool kill_leader = false;
  std::uint64_t seed = 1;
};

std::uint64_t slowest(const Shared& shared, std::size_t ranks, std::uint64_t calls) {
  std::uint64_t least = calls;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (shared.alive[rank]) least = std::min(least, shared.made[rank].load());
  }
  return least;
}

// Runs a rank in a process of its own; never returns.
[[noreturn]] void be_rank(Shared& shared, const ProcessRun& run, std::size_t rank,
                          const std::vector<RankAddress>& addresses, ListeningSocket listener) {
  constexpr std::uint64_t kApart = 64;
  {
    LoopGroup group(static_cast<std::int32_t>(rank), addresses, run.seed, std::move(listener), "0",
                    {.most_wait_s = 60, .overdue_s = 0.2, .drop_s = 2});
    std::uint64_t least = 0;
    for (std::uint64_t call = 0; call < run.calls; ++call) {
      while (call >= least + kApart) {
        least = slowest(shared, run.ranks, run.calls);
        if (call >= least + kApart) std::this_thread::yield();
      }
      if (rank == 0 && call % 64 == 0) (void)group.propose(std::to_string(call), 200);
      const auto table = group.begin_call(call % 5);
      if (!table) {
        ++shared.not_made;
        break;
      }
      std::uint32_t expected = 0;
      if (!shared.table_of[call].compare_exchange_strong(expected, *table + 1) &&
          expected != *table + 1) {
        ++shared.disagreements;
      }
      shared.made[rank] = call + 1;
    }
    shared.made[rank] = run.calls;
    if (rank == run.ranks - 1) shared.changes = group.status().changes;
    // The others may still ask for a verdict.
    while (slowest(shared, run.ranks, run.calls) < run.calls) ::usleep(1000);
  }
  ::_exit(0);
}

struct ProcessResult {
  bool ended = true;
  std::uint64_t changes = 0;
  std::uint64_t disagreements = 0;
  std::uint64_t not_made = 0;
  std::uint64_t calls_used = 0;  ///< calls with a table
};

ProcessResult run_processes(const ProcessRun& run) {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared{};
  std::vector<ListeningSocket> listeners(run.ranks);
  std::vector<RankAddress> addresses;
  for (std::size_t rank = 0; rank < run.ranks; ++rank) {
    addresses.push_back({"127.0.0.1", listeners[rank].port(), static_cast<std::int32_t>(rank / 4)});
    shared.alive[rank] = true;
  }
  std::vector<pid_t> processes;
  for (std::size_t rank = 0; rank < run.ranks; ++rank) {
    const pid_t process = ::fork();
    if (process == 0) {
      // The other ranks' sockets stay open here, but nobody accepts on them.
      be_rank(shared, run, rank, addresses, std::move(listeners[rank]));
    }
    processes.push_back(process);
  }
  listeners.clear();

  Random random = Random::stream(run.seed, {});
  std::vector<std::size_t> victims;
  while (victims.size() < run.kills) {
    const auto rank =
        victims.empty() && run.kill_leader
            ? 0
            : static_cast<std::size_t>(random.integer(1, static_cast<std::int64_t>(run.ranks) - 1));
    if (std::ranges::find(victims, rank) == victims.end()) victims.push_back(rank);
  }
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const std::uint64_t at = run.calls / 4 + i * run.calls / (2 * victims.size());
    while (slowest(shared, run.ranks, run.calls) < at) ::usleep(200);
    ::kill(processes[victims[i]], SIGKILL);
    shared.alive[victims[i]] = false;
  }
  ProcessResult result;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(8);
  for (const pid_t process : processes) {
    while (::waitpid(process, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) {
        result.ended = false;
        ::kill(process, SIGKILL);
      }
      ::usleep(1000);
    }
  }
  result.changes = shared.changes;
  result.disagreements = shared.disagreements;
  result.not_made = shared.not_made;
  for (std::uint64_t call = 0; call < run.calls; ++call) {
    if (shared.table_of[call] != 0) ++result.calls_used;
  }
  ::munmap(memory, sizeof(Shared));
  return result;
}

// Checks a run of 64 processes, the leader among those that are killed, and prints its changes of
// tables.
void check_64_processes(std::uint64_t calls, std::size_t kills) {
  const ProcessResult result = run_processes(
      {.ranks = 64, .calls = calls, .kills = kills, .kill_leader = kills > 0, .seed = 100 + kills});
  CHECK(result.ended);
  CHECK(result.disagreements == 0);
  CHECK(result.not_made == 0);
  CHECK(result.calls_used == calls);
  CHECK(result.changes > 0);
  WARN(result.changes << " changes of tables, " << kills << " kills");
}

}  // namespace

TEST_CASE("loop group: processes agree, and those that live go on when others are killed") {
  SKIP_UNLESS(!kSanitized, "sanitizers follow fork() badly");
  const std::size_t kills = GENERATE(0U, 1U, 3U);
  const bool leader = GENERATE(false, true);
  if (leader && kills == 0) SUCCEED();
  const ProcessResult result = run_processes(
      {.kills = kills, .kill_leader = leader && kills > 0, .seed = 10 * kills + (leader ? 1 : 0)});
  CHECK(result.ended);
  CHECK(result.disagreements == 0);
  CHECK(result.not_made == 0);
  CHECK(result.calls_used == 20'000);
  CHECK(result.changes > 0);
}

TEST_CASE("loop group: 64 processes with 100,000 calls each, and kills", "[.][thorough]") {
  SKIP_UNLESS(!kSanitized, "sanitizers follow fork() badly");
  check_64_processes(100'000, GENERATE(0U, 31U));
}

TEST_CASE("loop group: 64 processes with a million calls each, and kills", "[.][million]") {
  SKIP_UNLESS(!kSanitized, "sanitizers follow fork() badly");
  check_64_processes(kMostCalls, GENERATE(0U, 31U));
}

}  // namespace cclgym::test
