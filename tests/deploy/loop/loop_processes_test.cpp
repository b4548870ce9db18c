// Groups whose ranks are processes, some of which are killed: the ranks that live use the same
// table for the same call, and make all calls.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
constexpr std::uint64_t kApart = 64;    // calls by which a rank is ahead of the slowest
constexpr std::uint64_t kAhead = 80;    // calls from a proposal to its change
constexpr std::uint64_t kWindow = 500;  // calls during which a rank is killed
constexpr std::uint64_t kNoBound = ~std::uint64_t{0};
constexpr double kNoBound_s = 1e9;

/// Memory that the processes share.
struct Shared {
  std::atomic<std::uint64_t> made[kMostRanks];
  std::atomic<bool> alive[kMostRanks];
  std::atomic<std::uint64_t> may_make;    ///< calls before the next kill
  std::atomic<std::uint64_t> may_change;  ///< calls before a change that ranks may not refuse
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

/// The leader's proposals. A rank refuses a change if it has made the call before it hears of it,
/// and calls may be much faster than messages. Ranks therefore wait before every other change until
/// all have promised it; at the others they are as fast as they are.
class Proposals {
 public:
  Proposals(Shared& shared, const ProcessRun& run, LoopGroup& group)
      : shared_(shared), run_(run), group_(group) {}

  void before_call(std::uint64_t call) {
    if (call % 16 == 0 && group_.propose(std::to_string(call), kAhead) && ++made_ % 2 == 1) {
      shared_.may_change = call + kAhead;
    }
    if (shared_.may_change == kNoBound) return;
    while (call >= shared_.may_change && !promised()) ::usleep(50);
    if (promised()) shared_.may_change = kNoBound;
  }

 private:
  // True, too, if a rank that was killed cannot promise.
  [[nodiscard]] bool promised() const {
    if (group_.settled() || group_.status().answered == run_.ranks) return true;
    return !std::all_of(shared_.alive, shared_.alive + run_.ranks,
                        [](const auto& alive) { return alive.load(); });
  }

  Shared& shared_;
  const ProcessRun& run_;
  LoopGroup& group_;
  std::uint64_t made_ = 0;
};

// Waits until the rank may make a call. `least` is the last known number of the slowest rank's.
void wait_for_others(const Shared& shared, const ProcessRun& run, std::size_t rank,
                     std::uint64_t call, std::uint64_t& least) {
  const auto may_go = [&] {
    const bool bound = rank != 0 && shared.alive[0] && call >= shared.may_change;
    if (call >= least + kApart) least = slowest(shared, run.ranks, run.calls);
    return call < shared.may_make && !bound && call < least + kApart;
  };
  // The more ranks look, the longer each look takes.
  while (!may_go()) ::usleep(static_cast<useconds_t>(10 * run.ranks));
}

// Runs a rank in a process of its own; never returns.
[[noreturn]] void be_rank(Shared& shared, const ProcessRun& run, std::size_t rank,
                          const std::vector<RankAddress>& addresses, ListeningSocket listener) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    LoopGroup group(static_cast<std::int32_t>(rank), addresses, run.seed, std::move(listener), "0",
                    {.most_wait_s = kNoBound_s, .overdue_s = 0.2, .drop_s = kNoBound_s});
    Proposals proposals(shared, run, group);
    std::uint64_t least = 0;
    for (std::uint64_t call = 0; call < run.calls; ++call) {
      wait_for_others(shared, run, rank, call, least);
      if (rank == 0) proposals.before_call(call);
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
  std::size_t ended = 0;  ///< ranks that have made all calls
  std::size_t killed = 0;
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
  shared.may_change = kNoBound;
  shared.may_make = run.calls;
  const auto kill_at = [&](std::size_t kill) {
    return run.calls / 4 + kill * run.calls / (2 * run.kills);
  };
  // Nobody ends before the first kill, even if this process is slow.
  if (run.kills > 0) shared.may_make = kill_at(0) + kWindow;
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
    while (slowest(shared, run.ranks, run.calls) < kill_at(i)) ::usleep(200);
    ::kill(processes[victims[i]], SIGKILL);
    shared.alive[victims[i]] = false;
    shared.may_make = i + 1 < victims.size() ? kill_at(i + 1) + kWindow : run.calls;
  }
  ProcessResult result;
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++result.ended;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++result.killed;
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
  CHECK(result.ended == 64 - kills);
  CHECK(result.killed == kills);
  CHECK(result.disagreements == 0);
  CHECK(result.not_made == 0);
  CHECK(result.calls_used == calls);
  CHECK(result.changes >= calls / 4000);
  WARN(result.changes << " changes of tables, " << kills << " kills");
}

}  // namespace

TEST_CASE("loop group: processes agree, and those that live go on when others are killed") {
  SKIP_UNLESS(!kSanitized, "sanitizers follow fork() badly");
  const auto [kills, leader] =
      GENERATE(std::pair<std::size_t, bool>{0, false}, std::pair<std::size_t, bool>{1, false},
               std::pair<std::size_t, bool>{1, true}, std::pair<std::size_t, bool>{3, false},
               std::pair<std::size_t, bool>{3, true});
  const ProcessResult result =
      run_processes({.kills = kills, .kill_leader = leader, .seed = 10 * kills + (leader ? 1 : 0)});
  CHECK(result.ended == 8 - kills);
  CHECK(result.killed == kills);
  CHECK(result.disagreements == 0);
  CHECK(result.not_made == 0);
  CHECK(result.calls_used == 20'000);
  CHECK(result.changes >= 10);
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
