// Tests of the environment: its results are the simulator's, and the same seed gives the same
// episode.
#include "env/tuning/collective_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "env/gym/env_checker.hpp"
#include "env/tuning/episode.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/allocations.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const std::string kCloud =
    "{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, noise: cloud-ib, episode: 64, "
    "workload: {name: sweep, collectives: [allreduce, alltoall], sizes: 1KiB..16MiB x4}";

// Rewards and logarithms of times of a call with the default, in episodes of the same seed.
struct Spread {
  std::vector<double> rewards;
  std::vector<double> log_times;
  static double deviation(const std::vector<double>& values) {
    double sum = 0;
    double squares = 0;
    for (const double one : values) {
      sum += one;
      squares += one * one;
    }
    const auto n = static_cast<double>(values.size());
    return std::sqrt(std::max(0.0, squares / n - sum * sum / n / n));
  }
};

Spread spread_of(const std::string& reward) {
  CollectiveTuningEnv env(
      setup_of("{fabric: ndv4, actions: stock-nccl, episode: 0, reward: " + reward +
               ", noise: {name: loud, measurement: {sigma: 0.1}, regimes: [{noise: none}]}, "
               "workload: {name: sweep, sizes: [1MiB]}}"));
  OwnedBuffers buffers(env.spec());
  env.reset(7, buffers.view());
  const std::vector<std::int32_t> action(env.spec().action_space.size(), 0);
  Spread spread;
  for (int i = 0; i < 2000; ++i) {
    spread.rewards.push_back(env.step(action, buffers.view()).reward);
    spread.log_times.push_back(
        std::log(buffers.info[info_index(env.spec(), CollectiveTuningEnv::kTime)]));
  }
  return spread;
}

std::string error_of(const std::string& yaml) {
  try {
    (void)setup_of(yaml);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a step's time is the timer's, times the noise of the call", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(kCloud + ", oracle: true}"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  CallTimer timer(env.setup().site, std::size_t{0});
  TuningOracle oracle(env.setup().actions, timer);
  Random random(1);
  std::vector<std::uint8_t> scratch(64);
  std::vector<std::int32_t> action(env.spec().action_space.size());
  env.reset(3, view);
  const auto info = [&](const char* name) { return buffers.info[info_index(env.spec(), name)]; };
  for (int i = 0; i < 30; ++i) {
    const WorkloadCall next = env.next_call();
    const std::size_t regime = env.chain().regime();
    const double factor = env.chain().factor();
    const double other_factor = env.chain().other_factor();
    const std::uint16_t other_moment = env.chain().other_moment();
    const std::size_t condition = env.setup().condition_of[regime];
    sample_legal_action(env, buffers.action_mask, random, scratch, action);
    const StepOutcome outcome = env.step(action, view);
    const double time_s = oracle.time(next.call, action, condition).time_s;
    CHECK(info("time_us") == time_s * factor * 1e6);
    CHECK(info("expected_us") == oracle.time(next.call, action).time_s * 1e6);
    CHECK(info("regime") == static_cast<double>(regime));
    CHECK(info("oracle_time_us") == oracle.best(next.call, condition).time_s * factor * 1e6);
    CHECK(info("oracle_time_us") <= info("time_us"));
    CHECK(info("oracle_time_us") <= info("default_time_us"));
    const double other_s =
        timer.time(next.call, oracle.reference(next.call), condition, other_moment).time_s;
    CHECK(outcome.reward == Approx(std::log(other_s * other_factor / (time_s * factor))));
    CHECK(outcome.truncated == (i == 63));
  }
}

TEST_CASE("the default of log-speedup is timed with its own noise, which cancels only if paired",
          "[env][collective-tuning]") {
  const Spread real = spread_of("log-speedup");
  const Spread paired = spread_of("paired-log-speedup");
  CHECK(real.log_times == paired.log_times);  // calls do not depend on the default's noise
  CHECK(Spread::deviation(real.log_times) == Approx(0.1).epsilon(0.06));
  CHECK(Spread::deviation(paired.rewards) < 1e-12);
  // Two independent factors of deviation 0.1; the action is the default itself.
  CHECK(Spread::deviation(real.rewards) == Approx(0.1 * std::sqrt(2.0)).epsilon(0.06));
  // ln of the default's time is the sum of reward and ln time. Its variance is that of one factor,
  // so the two factors are uncorrelated: var(d - t) = var(d) + var(t) - 2 cov(d, t).
  std::vector<double> log_defaults;
  for (std::size_t i = 0; i < real.rewards.size(); ++i) {
    log_defaults.push_back(real.rewards[i] + real.log_times[i]);
  }
  CHECK(Spread::deviation(log_defaults) == Approx(0.1).epsilon(0.06));
}

TEST_CASE("a bonus for spread bytes pays gains on several NICs only", "[env][collective-tuning]") {
  const auto reward_on = [](const std::string& fabric, const std::string& reward) {
    CollectiveTuningEnv env(
        setup_of("{fabric: " + fabric + ", actions: offline, reward: " + reward +
                 ", knobs: {algorithm: [nccl-default, hierarchical], protocol: LL128, threads: "
                 "nccl, channels: 1}, workload: {name: sweep, sizes: [1MiB]}}"));
    OwnedBuffers buffers(env.spec());
    env.reset(1, buffers.view());
    std::vector<std::uint8_t> scratch(64);
    std::vector<std::int32_t> action(env.spec().action_space.size());
    Random random(4);
    std::vector<double> rewards;
    for (int i = 0; i < 30; ++i) {
      sample_legal_action(env, buffers.action_mask, random, scratch, action);
      rewards.push_back(env.step(action, buffers.view()).reward);
    }
    return rewards;
  };
  const std::string two = "{name: ndv4, servers: 2}";
  const auto plain = reward_on(two, "log-speedup");
  const auto paid = reward_on(two, "{name: log-speedup, fan_out_weight: 1}");
  int amplified = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    amplified += paid[i] > plain[i] ? 1 : 0;
    CHECK(paid[i] >= plain[i]);
    if (plain[i] <= 0) CHECK(paid[i] == plain[i]);
    CHECK(paid[i] <= 2 * std::max(plain[i], 0.0) + std::min(plain[i], 0.0) + 1e-12);
  }
  CHECK(amplified > 0);
}

TEST_CASE("same seed, same bits; another seed, another episode; with or without a cache",
          "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(kCloud + "}"));
  CollectiveTuningEnv uncached(setup_of(kCloud + ", cache: 0}"));
  const Episode first = play(env, 5, 80);
  CHECK(play(env, 5, 80) == first);
  CHECK(play(uncached, 5, 80) == first);
  CHECK_FALSE(play(env, 6, 80) == first);
}

TEST_CASE("the hidden state does not depend on the actions", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(kCloud + "}"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  std::vector<std::vector<double>> hidden;
  for (const std::int32_t protocol : {0, 2}) {
    auto& seen = hidden.emplace_back();
    env.reset(8, view);
    for (int i = 0; i < 64; ++i) {
      seen.push_back(static_cast<double>(env.chain().regime()));
      seen.push_back(env.chain().factor());
      seen.push_back(static_cast<double>(env.next_call().call.bytes));
      // The action is naive for AllToAll, ring for AllReduce.
      std::vector<std::int32_t> action;
      for (const auto kind : {env.next_call().call.collective}) {
        const auto all = env.setup().actions->legal_actions(kind);
        for (std::size_t row = 0; row < all.size(); row += 3) {
          if (all[row] != 0 && all[row + 1] == protocol)
            action = {all[row], protocol, all[row + 2]};
        }
      }
      env.step(action, view);
    }
  }
  CHECK(hidden[0] == hidden[1]);
}

TEST_CASE("regimes have the frequencies and durations of their options",
          "[env][collective-tuning]") {
  NoiseRegimes regimes = read_noise_regimes(parse_yaml("cloud-ib", "test.yaml"));
  REQUIRE(regimes.regimes.size() == 4);
  RegimeChain chain(regimes);
  Random random(7);
  chain.start(random);
  std::vector<double> calls(4, 0);
  std::vector<double> visits(4, 0);
  std::size_t before = 4;
  for (int i = 0; i < 2'000'000; ++i) {
    calls[chain.regime()] += 1;
    if (chain.regime() != before) visits[chain.regime()] += 1;
    before = chain.regime();
    chain.advance(random);
  }
  for (std::size_t regime = 0; regime < 4; ++regime) {
    CHECK(calls[regime] / visits[regime] ==
          Approx(regimes.regimes[regime].mean_calls).epsilon(0.1));
  }
}

TEST_CASE("observations stay within their bounds, and distinguish machines",
          "[env][collective-tuning]") {
  std::set<std::vector<float>> machines;
  for (const std::string fabric :
       {"dgx1", "ndv4", "dgx2", "z52", "{name: ndv4, servers: 2}", "{name: dgx2, servers: 2}",
        "{name: frontier, servers: 2}", "{name: perlmutter, servers: 2}", "hgx-h100"}) {
    CAPTURE(fabric);
    CollectiveTuningEnv env(setup_of("{fabric: " + fabric +
                                     ", actions: stock-nccl, workload: "
                                     "{name: curriculum, collectives: [allreduce, alltoall], most: "
                                     "1MiB}}"));
    OwnedBuffers buffers(env.spec());
    const StepBuffers view = buffers.view();
    Random random(1);
    std::vector<std::uint8_t> scratch(64);
    std::vector<std::int32_t> action(env.spec().action_space.size());
    env.reset(1, view);
    for (int i = 0; i < 10; ++i) {
      REQUIRE(env.spec().observation_space.contains(std::span<const float>(buffers.observation)));
      sample_legal_action(env, buffers.action_mask, random, scratch, action);
      env.step(action, view);
    }
    machines.insert({buffers.observation.begin(), buffers.observation.begin() + 16});
  }
  CHECK(machines.size() == 9);
}

TEST_CASE("features have names of their own, a unit and a source", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(kCloud + "}"));
  std::set<std::string> names;
  for (const TuningFeature& feature : env.observation().features()) {
    CHECK(names.insert(feature.name).second);
    CHECK_FALSE(feature.unit.empty());
    CHECK_FALSE(feature.source.empty());
    CHECK(feature.low < feature.high);
  }
}

TEST_CASE("variance of times shows as a shared network", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(
      "{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, episode: 0, noise: {name: loud, "
      "measurement: {sigma: 0.4}, regimes: [{noise: none}]}, workload: ddp-resnet-50}"));
  CollectiveTuningEnv quiet(
      setup_of("{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, workload: ddp-resnet-50}"));
  for (CollectiveTuningEnv* one : {&env, &quiet}) {
    OwnedBuffers buffers(one->spec());
    const StepBuffers view = buffers.view();
    one->reset(1, view);
    const std::vector<std::int32_t> action(one->spec().action_space.size(), 0);
    for (int i = 0; i < 20; ++i) one->step(action, view);
    CHECK(one->observation().shared_network() == (one == &env));
  }
}

TEST_CASE("a warm step does not allocate", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(
      "{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, noise: cloud-ib, reward: tail, "
      "episode: 100, workload: {name: sweep, sizes: [1MiB, 4MiB, 16MiB]}}"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  const std::vector<std::int32_t> action(env.spec().action_space.size(), 0);
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      if (env.step(action, view).done()) env.reset(std::nullopt, view);
    }
  };
  for (const std::string regime : {"0", "1", "2", "3"}) {
    env.reset(1, parse_yaml("{regime: " + regime + "}", "options"), view);
    run(20);
  }
  env.reset(1, view);
  run(100);
  const long before = allocations();
  run(5000);
  CHECK(allocations() == before);
}

TEST_CASE("an illegal action is refused, and changes nothing", "[env][collective-tuning]") {
  CollectiveTuningEnv env(
      setup_of("{fabric: ndv4, actions: stock-nccl, workload: {name: sweep, "
               "collectives: alltoall, sizes: [1MiB]}}"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  env.reset(1, view);
  const auto& levels = env.setup().actions->levels(Knob::Algorithm);
  const auto ring = static_cast<std::int32_t>(std::ranges::find(levels, "ring") - levels.begin());
  CHECK_THROWS_AS(env.step(std::vector<std::int32_t>{ring, 0, 0}, view), InvalidAction);
  CHECK_THROWS_AS(env.step(std::vector<std::int32_t>{0, 0, 1}, view), InvalidAction);
  CHECK_NOTHROW(env.step(std::vector<std::int32_t>{0, 0, 0}, view));
}

TEST_CASE("an episode may stay in one regime", "[env][collective-tuning]") {
  CollectiveTuningEnv env(setup_of(kCloud + "}"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  const std::vector<std::int32_t> action(env.spec().action_space.size(), 0);
  env.reset(1, parse_yaml("{regime: 2}", "options"), view);
  for (int i = 0; i < 64; ++i) {
    CHECK(env.chain().regime() == 2);
    env.step(action, view);
  }
  CHECK_THROWS_AS(env.reset(1, parse_yaml("{regime: 4}", "options"), view), UserError);
  CHECK_THROWS_AS(env.reset(1, parse_yaml("{regimes: 1}", "options"), view), UserError);
}

TEST_CASE("mistakes in the options are reported with their location", "[env][collective-tuning]") {
  CHECK(error_of("{fabrik: dgx1}").find("test.yaml:1:2:") == 0);
  CHECK(error_of("{fabric: dgx3}").find("test.yaml:1:10:") == 0);
  CHECK(error_of("{actions: stock}").find("test.yaml:1:11:") == 0);
  CHECK(error_of("{tuners: nccl-defualt}").find("test.yaml:1:10:") == 0);
  for (const char* release : {"9.9", "2.9", "foo"}) {
    const std::string mistake =
        error_of("{fabric: dgx1, tuners: ['nccl-default:" + std::string(release) + "']}");
    INFO(mistake);
    CHECK(mistake.find("test.yaml:1:24:") == 0);
  }
  // The older name of the key `tuners`.
  CHECK(error_of("{choosers: nccl-defualt}").find("test.yaml:1:12:") == 0);
  CHECK(error_of("{reward: speed}").find("test.yaml:1:10:") == 0);
  CHECK(error_of("{reward: {name: rolling, window: 0}}").find("test.yaml:1:34:") == 0);
  CHECK(error_of("{noise: cloud}").find("test.yaml:1:9:") == 0);
  CHECK(
      error_of("{noise: {name: a, regimes: [{noise: none, weight: 0}]}}").find("test.yaml:1:51:") ==
      0);
  CHECK(error_of("{cost_model: b2000}").find("test.yaml") == 0);
  CHECK(error_of("{episode: -1}").find("test.yaml:1:11:") == 0);
  CHECK(error_of("{actions: stock-nccl, workload: {name: sweep, collectives: reduce}}") ==
        "no error");
}
