// Tests the plugin under load: the table of functions of every version, with cost tables like
// NCCL's.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "deploy/nccl_plugin/malloc_counter.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"
#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "deploy/runtime/deployed_network.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

using Sizes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
const Sizes kSizes{{8, 1}, {16, 2}, {32, 4}, {4, 4}};

TEST_CASE("each release of NCCL finds the table that it looks for", "[deploy][tuner-plugin]") {
  const Plugin plugin;
  struct Release {
    const char* releases;
    std::vector<int> tuners;  ///< versions, in the order in which NCCL looks for them
    int found;
    std::vector<int> profilers;
    int profiler;  ///< 0 if there is none
  };
  const std::vector<Release> releases{
      {"2.21.5", {2}, 2, {}, 0},
      {"2.22.3 to 2.23.4", {3, 2}, 3, {1}, 0},
      {"2.24.3 to 2.27.7", {4, 3, 2}, 4, {4, 3, 2, 1}, 0},
      {"2.28.3 to 2.28.9", {5, 4, 3, 2}, 5, {5, 4, 3, 2, 1}, 5},
      {"2.29.2 to 2.29.7", {5, 4, 3, 2}, 5, {6, 5, 4, 3, 2, 1}, 6},
      {"2.30.3 to 2.30.7", {6, 5, 4, 3, 2}, 6, {6, 5, 4, 3, 2, 1}, 6},
      {"newer ones", {7, 6, 5, 4, 3, 2}, 6, {7, 6, 5, 4, 3, 2, 1}, 6}};
  for (const Release& release : releases) {
    INFO(release.releases);
    const auto first = [&](const std::string& prefix, const std::vector<int>& versions) {
      for (const int version : versions) {
        if (plugin.symbol(prefix + std::to_string(version)) != nullptr) return version;
      }
      return 0;
    };
    CHECK(first("ncclTunerPlugin_v", release.tuners) == release.found);
    CHECK(first("ncclProfiler_v", release.profilers) == release.profiler);
  }
  // No other symbol is exported, in particular none from the C++ library that the plugin contains.
  for (const char* name : {"_Znwm", "_ZTISt9exception", "cclgym_policy_load",
                           "_ZN6cclgym12parse_policyESt17basic_string_viewIcSt11char_traitsIcEERKN"
                           "St7__cxx1112basic_stringIcS2_SaIcEEE"}) {
    void* found = plugin.symbol(name);
    // dlsym also searches the plugin's dependencies.
    CHECK((found == nullptr || std::strncmp(name, "_Z", 2) == 0));
  }
  CHECK(std::string(plugin.table<cclgym_nccl_tuner_v5>("ncclTunerPlugin_v5")->name) == "cclgym");
}

// The network's greedy choice by `rules`, restricted to the combinations that a table allows.
TunerChoice by_the_network(const PolicyFile& file, const DeployedGrid& grid, std::size_t size,
                           const std::string& rules, const CostTable& costs) {
  const DeployedNetwork network(file, "test");
  std::vector<std::size_t> counts;
  for (std::size_t k = 0; k < network.knobs(); ++k) counts.push_back(network.levels(k));
  std::string fault;
  const MaskTree all = read_mask_tree(file.table(rules)->values, counts, fault);
  constexpr std::array kAlgorithms{-1, 1, 0, 6, -1, 4, 5};  // by level, as in tuner_testing.cpp
  constexpr std::array<std::uint8_t, 7> kChannels{1, 2, 4, 8, 16, 24, 32};
  std::vector<std::int32_t> legal;
  for (std::int32_t a = 0; a < 7; ++a) {
    const bool ours = kAlgorithms[static_cast<std::size_t>(a)] < 0;
    for (std::int32_t p = 0; p < (ours ? 1 : 3); ++p) {
      if (!ours && !costs.legal(kAlgorithms[static_cast<std::size_t>(a)], p)) continue;
      for (std::int32_t c = 0; c < (ours ? 1 : 7); ++c) legal.insert(legal.end(), {a, p, c});
    }
  }
  const MaskTree only = make_mask_tree(legal, 3);
  LaneVector state(network.state_size());
  network.init_state(state.data());
  std::array<std::int32_t, 3> action{};
  for (std::uint32_t call = 0; call < grid.calls; ++call) {
    const float* seen = grid.seen.data() + (size * grid.calls + call) * grid.features;
    const MaskTree& tree = call + 1 == grid.calls ? only : all;
    REQUIRE(network.decide(lane_kernels(), state.data(), seen, &tree, nullptr, action.data()) ==
            DecisionFault::None);
  }
  const int algorithm = kAlgorithms[static_cast<std::size_t>(action[0])];
  if (algorithm < 0) return {};
  return {static_cast<std::int8_t>(algorithm), static_cast<std::int8_t>(action[1]),
          kChannels[static_cast<std::size_t>(action[2])], 0};
}

TEST_CASE("the choice is the network's, under whatever NCCL forbids", "[deploy][tuner-plugin]") {
  const auto machines = random_machines(kSizes, 3);
  Random random(4);
  std::set<int> algorithms;
  int driven = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const PolicyFile file = random_deployed_policy(seed, machines, false);
    const PolicyChoices choices(file, "test", 16, 2);
    CHECK(choices.machine() == "machine 16x2");
    for (int i = 0; i < 500; ++i) {
      NcclTable table(random, random.uniform());
      const CostTable costs{table.entries, CCLGYM_NCCL_ALGORITHMS, CCLGYM_NCCL_PROTOCOLS};
      const int collective = static_cast<int>(random.integer(0, 4));
      const DeployedGrid& grid = *machines[1].grids[static_cast<std::size_t>(collective)];
      const auto size = static_cast<std::size_t>(random.integer(0, 124));
      const auto wanted = choices.wanted(collective, grid.sizes[size], 1);
      const TunerChoice found = first_legal(wanted, costs);
      REQUIRE(found ==
              by_the_network(
                  file, grid, size,
                  "masks/machine 16x2/" +
                      std::string(kNcclCollectiveNames[static_cast<std::size_t>(collective)]),
                  costs));
      algorithms.insert(found.algorithm);
      driven += found == wanted.front() ? 0 : 1;
    }
  }
  CHECK(algorithms.size() >= 5);
  CHECK(driven > 100);
}

// True if `before` and `after` differ in at most one entry, which was legal and became the
// cheapest.
bool fair(const NcclTable& before, const NcclTable& after, int* taken) {
  *taken = -1;
  for (int i = 0; i < CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS; ++i) {
    if (before.entries[i] == after.entries[i]) continue;
    if (!before.legal(i) || after.entries[i] != 0 || *taken >= 0) return false;
    *taken = i;
  }
  return true;
}

struct Tally {
  std::uint64_t decisions = 0;  ///< hash of all decisions
  long wrong = 0;
  long taken = 0;
};

// The calls of one thread. All threads make the same calls, so that their hashes must be equal.
Tally call_often(const std::vector<std::unique_ptr<AnyTuner>>& tuners, int calls, int rank) {
  Random random(11);
  Tally tally;
  for (int i = 0; i < calls; ++i) {
    const NcclTable before(random, i % 4 == 0 ? 0.9 : 0.3);
    NcclTable after = before;
    const int collective = static_cast<int>(random.integer(0, 5));  // 5 is send and receive
    const auto bytes = static_cast<std::size_t>(std::exp2(random.uniform(3, 34)));
    const auto& tuner = *tuners[static_cast<std::size_t>(i) % tuners.size()];
    int channels = 0;
    // NCCL 2.22 has 6 algorithms; the registration of buffers differs between ranks.
    const int algorithms = random.uniform() < 0.3 ? 6 : CCLGYM_NCCL_ALGORITHMS;
    const int status =
        tuner.decide(collective, bytes, after.entries, algorithms, (i + rank) % 2, &channels);
    int taken = -1;
    const bool good = status == CCLGYM_NCCL_SUCCESS && fair(before, after, &taken) &&
                      channels >= 0 && channels <= kMostTunerChannels &&
                      (taken >= 0 || channels == 0) && taken < algorithms * CCLGYM_NCCL_PROTOCOLS;
    tally.wrong += good ? 0 : 1;
    tally.taken += taken >= 0 ? 1 : 0;
    tally.decisions =
        (tally.decisions ^ static_cast<std::uint64_t>(taken + 1 + 64 * channels)) * 0x100000001b3U;
  }
  return tally;
}

TEST_CASE("a million calls of 64 threads: legal, the same for all, without allocation",
          "[deploy][tuner-plugin]") {
  constexpr int kThreads = 64;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kCalls = 2'000;
#else
  constexpr int kCalls = 15'700;
#endif
  const TemporaryFolder folder;
  const Variable policy("CCLGYM_POLICY", folder / "test.policy");
  write_file(folder / "test.policy",
             format_policy(random_deployed_policy(5, random_machines(kSizes, 6), true)));
  const Plugin plugin;
  clear_lines();
  // Half of the threads share the tuners of one rank, the other half the tuners of another rank.
  std::array<std::vector<std::unique_ptr<AnyTuner>>, 2> ranks;
  for (auto& tuners : ranks) {
    for (const auto& [n, nodes] : kSizes) {
      for (int version = 3; version <= 6; ++version) {
        tuners.push_back(std::make_unique<AnyTuner>(plugin, version, n, nodes));
        REQUIRE(tuners.back()->status() == CCLGYM_NCCL_SUCCESS);
        REQUIRE(tuners.back()->context() != nullptr);
      }
    }
  }
  for (const std::string& line : recorded_lines()) CHECK(line.starts_with("INFO TUNER/cclgym: "));
  CHECK(recorded_lines().size() == 2 * 4 * kSizes.size());

  std::vector<Tally> tallies(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  std::atomic<int> done{0};
  std::atomic<int> phase{0};
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (phase == 0) std::this_thread::yield();
      tallies[static_cast<std::size_t>(t)] =
          call_often(ranks[static_cast<std::size_t>(t % 2)], kCalls, t);
      ++done;
      while (phase == 1) std::this_thread::yield();
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  const long before = malloc_calls();
  phase = 1;
  while (done < kThreads) std::this_thread::yield();
  const long after = malloc_calls();
  phase = 2;
  for (std::thread& thread : threads) thread.join();
  CHECK(after == before);
  for (const Tally& tally : tallies) {
    CHECK(tally.wrong == 0);
    CHECK(tally.decisions == tallies.front().decisions);
  }
  CHECK(tallies.front().taken > kCalls / 5);
  // Checks that the counter includes the plugin's allocations.
  if (before >= 0) {
    const AnyTuner another(plugin, 5, 8, 1);
    CHECK(malloc_calls() > after + 10);
  }
}

TEST_CASE("asking again changes nothing: NCCL also asks about calls that it does not make",
          "[deploy][tuner-plugin]") {
  const TemporaryFolder folder;
  const Variable policy("CCLGYM_POLICY", folder / "test.policy");
  write_file(folder / "test.policy",
             format_policy(random_deployed_policy(7, random_machines(kSizes, 8), false)));
  const Plugin plugin;
  const AnyTuner once(plugin, 6, 8, 1);
  const AnyTuner often(plugin, 6, 8, 1);
  Random random(9);
  for (int i = 0; i < 2000; ++i) {
    const NcclTable table(random, 0.3);
    const int collective = static_cast<int>(random.integer(0, 4));
    const auto bytes = static_cast<std::size_t>(std::exp2(random.uniform(0, 40)));
    for (int extra = static_cast<int>(random.integer(0, 3)); extra > 0; --extra) {
      NcclTable thrown = table;
      int channels = 0;
      (void)often.decide(collective, bytes / 3, thrown.entries, 7, 0, &channels);
    }
    NcclTable first = table;
    NcclTable second = table;
    int first_channels = 0;
    int second_channels = 0;
    (void)once.decide(collective, bytes, first.entries, 7, 0, &first_channels);
    (void)often.decide(collective, bytes, second.entries, 7, 1, &second_channels);
    REQUIRE(std::memcmp(first.entries, second.entries, sizeof(first.entries)) == 0);
    REQUIRE(first_channels == second_channels);
  }
}

}  // namespace
}  // namespace cclgym::test
