// The closed loop in NCCL's plugin: processes that load it as NCCL does play the ranks of a job.
#include <algorithm>
#include <iterator>
#include <sys/wait.h>

#include "core/random.hpp"
#include "deploy/nccl_plugin/malloc_counter.hpp"
#include "deploy/nccl_plugin/played_job.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {

namespace {

constexpr std::size_t kTreeLl = 0;
constexpr std::size_t kTreeSimple = 2;
constexpr std::size_t kRingLl = 3;
constexpr std::size_t kRingSimple = 5;
constexpr std::size_t kNvlsSimple = 14;

PlayedTimes times(std::initializer_list<std::pair<std::size_t, float>> known) {
  PlayedTimes times;
  times.fill(-1);
  for (const auto& [config, time_us] : known) times[config] = time_us;
  return times;
}

const PlayedTimes kPredicted = times(
    {{kTreeLl, 150}, {kTreeSimple, 120}, {kRingLl, 140}, {kRingSimple, 100}, {kNvlsSimple, 130}});
const PlayedTimes kPredictedGather = times({{kRingLl, 50}, {kRingSimple, 60}});
const PlayedTimes kBefore = times(
    {{kTreeLl, 170}, {kTreeSimple, 90}, {kRingLl, 150}, {kRingSimple, 110}, {kNvlsSimple, 65}});
const PlayedTimes kAfter = times(
    {{kTreeLl, 160}, {kTreeSimple, 140}, {kRingLl, 150}, {kRingSimple, 60}, {kNvlsSimple, 150}});
const PlayedTimes kGather = times({{kRingLl, 70}, {kRingSimple, 45}});

// AllReduce and AllGather in turn. The machine changes at call `change`: then AllReduce is best by
// Ring instead of NVLS. AllGather is always best by Simple.
PlayedCall two_classes(std::uint64_t call, std::uint64_t change) {
  if (call % 2 == 1) {
    return {.collective = CCLGYM_NCCL_ALLGATHER,
            .bytes = 65536,
            .predicted_us = kPredictedGather,
            .real_us = kGather};
  }
  return {.collective = CCLGYM_NCCL_ALLREDUCE,
          .bytes = std::size_t{1} << 20,
          .predicted_us = kPredicted,
          .real_us = call < change ? kBefore : kAfter};
}

// Share of the AllReduce calls from `begin` to `end` that used a configuration.
double share(const std::vector<std::uint8_t>& used, std::uint64_t begin, std::uint64_t end,
             std::size_t config, std::uint64_t parity = 0) {
  int all = 0;
  int found = 0;
  for (std::uint64_t call = begin; call < end; ++call) {
    if (call % 2 != parity) continue;
    ++all;
    found += used[call] == config ? 1 : 0;
  }
  return static_cast<double>(found) / all;
}

std::vector<std::string> warnings(const std::vector<std::string>& log) {
  std::vector<std::string> found;
  std::ranges::copy_if(log, std::back_inserter(found),
                       [](const std::string& line) { return line.starts_with("WARN "); });
  return found;
}

}  // namespace

TEST_CASE("plugin loop: four processes learn the best choices, alike, while the machine changes",
          "[plugin-loop]") {
  constexpr std::uint64_t kChange = 3000;
  constexpr std::uint64_t kCalls = 6000;
  PlayedJob job{.ranks = 4, .calls = kCalls, .paced = true};
  job.call = [](int, std::uint64_t call) { return two_classes(call, kChange); };
  job.variables = {{"CCLGYM_LOOP", free_rendezvous()}};
  job.lines = [](int) { return std::size_t{1}; };
  const PlayedResult result = play(job);
  for (int rank = 0; rank < job.ranks; ++rank) {
    CAPTURE(rank);
    const auto place = static_cast<std::size_t>(rank);
    CHECK(result.status[place] == 0);
    CHECK(result.used[place] == result.used[0]);
    CHECK(warnings(result.log[place]).empty());
    CHECK(result.allocations[place] <= 0);
    REQUIRE(result.log[place].size() == 2);
    CHECK(result.log[place][0] ==
          "INFO TUNER/cclgym: closed loop: rank " + std::to_string(rank) + " knows all 4 ranks");
    CHECK(contains(result.log[place][1], "closed loop: 6000 questions, "));
  }
  const auto& used = result.used[0];
  CHECK(used[0] == kRingSimple);  // NCCL's choice
  CHECK(used[1] == kRingLl);
  CHECK(share(used, kChange - 1000, kChange, kNvlsSimple) > 0.9);
  CHECK(share(used, kChange - 1000, kChange, kRingSimple, 1) > 0.9);
  CHECK(share(used, kCalls - 1000, kCalls, kRingSimple) > 0.9);
  CHECK(share(used, kCalls - 1000, kCalls, kRingSimple, 1) > 0.9);
}

TEST_CASE("plugin loop: a rank that is killed stops changes, and the others go on alike",
          "[plugin-loop]") {
  const int killed = GENERATE(2, 0);
  PlayedJob job{.ranks = 4, .calls = 4000, .paced = true};
  job.call = [](int, std::uint64_t call) { return two_classes(call, 2250); };
  job.variables = {{"CCLGYM_LOOP", free_rendezvous()}};
  job.killed = killed;
  job.killed_at = 2000;
  // All say that they know each other; the leader also says that the loop is off.
  job.lines = [](int rank) { return rank == 0 ? std::size_t{2} : std::size_t{1}; };
  const PlayedResult result = play(job);
  for (int rank = 0; rank < job.ranks; ++rank) {
    CAPTURE(rank, killed);
    const auto place = static_cast<std::size_t>(rank);
    if (rank == killed) {
      CHECK(WIFSIGNALED(result.status[place]));
      continue;
    }
    CHECK(result.status[place] == 0);
    CHECK(result.used[place] == result.used[1]);
    const auto lines = warnings(result.log[place]);
    // The leader says it, and no rank is left to do so if it was killed.
    REQUIRE(lines.size() == (rank == 0 ? 1 : 0));
    if (rank == 0) CHECK(contains(lines[0], "closed loop off: rank 2 "));
    CHECK(share(result.used[place], 1600, 2000, kNvlsSimple) > 0.8);
  }
}

TEST_CASE("plugin loop: without CCLGYM_LOOP there is no thread, no file and no other decision",
          "[plugin-loop]") {
  const TemporaryFolder folder;
  write_file(folder / "t.csv",
             "allreduce,0,1000000,tree,simple,4,-1,-1\nallgather,0,99999999,ring,simple,2,-1,-1\n");
  const std::string csv = folder / "t.csv";
  PlayedJob job{.ranks = 1, .calls = 3000};
  job.variables = {{"CCLGYM_TUNER_CSV", csv}};
  job.call = [](int, std::uint64_t call) {
    Random random = Random::stream(call, {});
    PlayedCall next{.collective = static_cast<int>(random.integer(0, 4)),
                    .bytes = static_cast<std::size_t>(random.integer(1, 3'000'000))};
    for (float& time_us : next.predicted_us) {
      time_us = random.uniform() < 0.5 ? -1.0F : static_cast<float>(random.uniform(5, 500));
    }
    next.predicted_us[kRingSimple] = 1000;
    next.made = false;
    return next;
  };
  const PlayedResult off = play(job);
  REQUIRE(off.status[0] == 0);
  CHECK(off.log[0].size() == 1);
  CHECK(off.threads[0] == 0);
  CHECK(off.files[0] == 0);
  // With a loop whose other rank never comes, the decisions are the same.
  PlayedJob lonely = job;
  lonely.variables.emplace_back("CCLGYM_LOOP", free_rendezvous());
  const PlayedResult one = play(lonely);  // a communicator of one rank has no loop
  CHECK(one.log[0].size() == 1);
  CHECK(one.threads[0] == 0);
  lonely.ranks = 2;
  lonely.killed = 1;
  const PlayedResult two = play(lonely);
  REQUIRE(two.status[0] == 0);
  CHECK(two.threads[0] >= 2);
  for (const PlayedResult* result : {&one, &two}) {
    CHECK(result->used[0] == off.used[0]);
    CHECK(result->channels[0] == off.channels[0]);
  }
  CHECK(two.allocations[0] <= 0);
  CHECK(std::ranges::count(off.channels[0], 4) > 100);
}

TEST_CASE("plugin loop: ranks that ask differently never change tables, and say so",
          "[plugin-loop]") {
  PlayedJob job{.ranks = 3, .calls = 2000, .paced = true};
  // Rank 1 has one more question, which shifts all others.
  job.call = [](int rank, std::uint64_t call) {
    if (rank != 1) return two_classes(call, 100'000);
    PlayedCall own = two_classes(call == 0 ? 0 : call - 1, 100'000);
    own.made = call != 0;
    return own;
  };
  job.variables = {{"CCLGYM_LOOP", free_rendezvous()}};
  // All say that they know each other; ranks 0 and 1 also say that the loop is off.
  job.lines = [](int rank) { return rank == 2 ? std::size_t{1} : std::size_t{2}; };
  const PlayedResult result = play(job);
  const std::string reason = "the ranks do not make the same calls";
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    CHECK(result.status[rank] == 0);
    const auto lines = warnings(result.log[rank]);
    REQUIRE(lines.size() == (rank == 2 ? 0 : 1));
    if (rank == 1) CHECK(lines[0] == "WARN TUNER/cclgym: closed loop off: " + reason);
    if (rank == 0) CHECK(lines[0] == "WARN TUNER/cclgym: closed loop off: rank 1: " + reason);
    for (std::uint64_t call = 1; call < job.calls; ++call) {
      const bool gather = (rank == 1 ? call - 1 : call) % 2 == 1;
      if (result.used[rank][call] == (gather ? kRingLl : kRingSimple)) continue;
      FAIL("call " << call << " used another choice than NCCL's");
    }
  }
}

TEST_CASE("plugin loop: what is missing switches it off, with one line", "[plugin-loop]") {
  PlayedJob job{.ranks = 2, .calls = 200, .lines = [](int) { return std::size_t{1}; }};
  job.call = [](int, std::uint64_t call) { return two_classes(call, 100'000); };
  job.variables = {{"CCLGYM_LOOP", free_rendezvous()}};
  std::string expected;
  SECTION("no profiler") {
    job.has_profiler = false;
    expected =
        "the profiler of the communicator is missing: set NCCL_PROFILER_PLUGIN, as "
        "NCCL_TUNER_PLUGIN";
  }
  SECTION("two ranks in a process") {
    job.tuners_per_process = 2;
    expected = "this process has two ranks of the communicator";
  }
  SECTION("no address") {
    job.variables = {{"CCLGYM_LOOP", "nowhere:7"}};
    expected =
        "CCLGYM_LOOP: 'nowhere:7'; expected the IPv4 address of a node and a port, such as "
        "10.0.0.1:4321";
  }
  SECTION("no interface") {
    job.variables.emplace_back("CCLGYM_LOOP_INTERFACE", "no-such");
    expected = "no network interface 'no-such' that is up and has an IPv4 address";
  }
  const PlayedResult result = play(job);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(result.status[rank] == 0);
    const auto lines = warnings(result.log[rank]);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == "WARN TUNER/cclgym: closed loop off: " + expected);
    for (std::uint64_t call = 0; call < job.calls; ++call) {
      CHECK(result.used[rank][call] == (call % 2 == 1 ? kRingLl : kRingSimple));
    }
  }
}

}  // namespace cclgym::test
