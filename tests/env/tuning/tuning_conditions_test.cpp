// Tests of the conditions of the environment's machine: its engine, faults, and computation beside
// the calls.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "env/tuning/collective_tuning.hpp"
#include "env/tuning/episode.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/sanitized.hpp"

using namespace cclgym;
using namespace cclgym::test;

TEST_CASE("an episode is the same with engine simgrid", "[env][collective-tuning]") {
  for (const std::string noise :
       {"none", "stragglers",
        "{name: late, regimes: [{noise: {name: j, jitter: {generic: {median: 1us, sigma: "
        "0.5}}, load: {generic: {correlation_time: 5us, states: [{capacity: 1, share: 0.5}, "
        "{capacity: 0.5, share: 0.5}]}}}, moments: 4}]}"}) {
    const std::string options =
        "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, oracle: true, noise: " + noise +
        ", workload: {name: sweep, collectives: [allreduce, alltoall], sizes: [4KiB, 256KiB]}";
    CollectiveTuningEnv flow(setup_of(options + "}"));
    CollectiveTuningEnv simgrid(setup_of(options + ", engine: simgrid}"));
    const Episode expected = play(flow, 3, 12);
    const Episode found = play(simgrid, 3, 12);
    REQUIRE(found.infos.size() == expected.infos.size());
    for (std::size_t i = 0; i < expected.infos.size(); ++i) {
      CHECK(found.infos[i] == Approx(expected.infos[i]).epsilon(1e-6));
    }
    for (std::size_t i = 0; i < expected.rewards.size(); ++i) {
      CHECK(found.rewards[i] == Approx(expected.rewards[i]).margin(1e-6));
    }
  }
}

TEST_CASE("under cloud-faults, times scatter in the middle, and every fault costs time",
          "[env][collective-tuning]") {
  const auto setup = setup_of(
      "{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, noise: cloud-faults, workload: "
      "{name: sweep, collectives: [allreduce, alltoall], sizes: [32KiB, 8MiB, 1GiB]}}");
  REQUIRE(setup->regimes.regimes.size() == 6);
  CallTimer timer(setup->site, setup->cache);
  TuningOracle oracle(setup->actions, timer);
  // Standard deviation of the default's times over the moments of regime cloud-ib, over their mean.
  const auto scatter = [&](std::uint64_t bytes) {
    const Call call{.collective = CollectiveKind::AllToAll, .bytes = bytes};
    double sum = 0;
    double squares = 0;
    constexpr int kMoments = kSanitized ? 6 : 16;
    for (int moment = 0; moment < kMoments; ++moment) {
      const double time_s = timer
                                .time(call, oracle.reference(call), setup->condition_of[1],
                                      static_cast<std::uint16_t>(moment))
                                .time_s;
      sum += time_s;
      squares += time_s * time_s;
    }
    return std::sqrt(std::max(0.0, squares / kMoments - sum * sum / kMoments / kMoments)) /
           (sum / kMoments);
  };
  CHECK(scatter(8 << 20) > 2 * scatter(1 << 30));
  // The GPUs do not limit an AllToAll, but they do an AllReduce.
  for (const std::size_t regime :
       {std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{5}}) {
    INFO(setup->regimes.regimes[regime].profile.name);
    const bool reduces = regime == 2;
    const Call call{.collective = reduces ? CollectiveKind::AllReduce : CollectiveKind::AllToAll,
                    .bytes = std::uint64_t{8} << 20U};
    const double free_s = timer.time(call, oracle.reference(call)).time_s;
    CHECK(timer.time(call, oracle.reference(call), setup->condition_of[regime]).time_s > free_s);
  }
}

TEST_CASE("computing during a call takes SMs from it", "[env][collective-tuning]") {
  const auto times_of = [](const std::string& rate, const std::string& noise, bool overlaps) {
    CollectiveTuningEnv env(
        setup_of("{fabric: ndv4, actions: stock-nccl, oracle: true, overlap_rate: " + rate +
                 ", noise: " + noise +
                 ", workload: {name: trace, calls: [{collective: allreduce, size: "
                 "64MiB, overlaps: " +
                 (overlaps ? "true" : "false") + "}]}}"));
    OwnedBuffers buffers(env.spec());
    env.reset(1, buffers.view());
    const std::vector<std::int32_t> action(env.spec().action_space.size(), 0);
    env.step(action, buffers.view());
    const auto info = [&](const char* name) { return buffers.info[info_index(env.spec(), name)]; };
    CHECK(info("oracle_time_us") <= info("time_us"));
    return info("time_us");
  };
  const double alone_us = times_of("0.7", "none", false);
  const double during_us = times_of("0.7", "none", true);
  CHECK(during_us > 1.005 * alone_us);
  CHECK(times_of("1", "none", true) == alone_us);
  // As if all GPUs were slow; slow GPUs are slower still.
  CHECK(times_of("1",
                 "{name: s, regimes: [{noise: {name: s, slow_gpus: {probability: 1, rate: "
                 "0.7}}}]}",
                 false) == during_us);
  const std::string slow =
      "{name: s, regimes: [{noise: {name: s, slow_gpus: {ranks: [1], rate: 0.5}}}]}";
  CHECK(times_of("0.7", slow, true) > times_of("0.7", slow, false));
}
