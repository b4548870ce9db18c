// Tests of the features of backends and of NIC counters, and of groups of features.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "env/tuning/nic_counters.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

const std::string kGathers =
    "workload: {name: sweep, collectives: allgather, sizes: 4MiB, order: listed}";

std::size_t feature_index(const CollectiveTuningEnv& env, const std::string& name) {
  const auto& features = env.observation().features();
  const auto found = std::ranges::find(features, name, &TuningFeature::name);
  REQUIRE(found != features.end());
  return static_cast<std::size_t>(found - features.begin());
}

// The action that names these levels, one for each knob.
std::vector<std::int32_t> action_named(const TuningActions& actions,
                                       const std::vector<std::string>& names) {
  std::vector<std::int32_t> action;
  for (std::size_t i = 0; i < actions.knobs().size(); ++i) {
    const auto& levels = actions.levels(actions.knobs()[i]);
    const auto found = i < names.size() ? std::ranges::find(levels, names[i]) : levels.begin();
    action.push_back(static_cast<std::int32_t>(found - levels.begin()));
  }
  return action;
}

NicShares shares_on(const std::string& fabric, const std::string& algorithm) {
  const auto setup = setup_of("{fabric: " + fabric + ", actions: stock-nccl, " + kGathers + "}");
  NicCounters counters(setup->site);
  PlainConfig config;
  config.program = static_cast<std::uint16_t>(setup->site->algorithms.index_of(algorithm));
  config.channels = 8;
  return counters.shares({.collective = CollectiveKind::AllGather, .bytes = 1 << 20}, config);
}

}  // namespace

TEST_CASE("NIC counters: PCCL's rings use all NICs of Frontier alike, a single NIC nothing else",
          "[env][features]") {
  const NicShares all = shares_on("{name: frontier, nodes: 2}", "pccl-ring");
  REQUIRE(all.nics == 4);
  for (std::size_t nic = 0; nic < 4; ++nic) {
    CHECK(all.sent[nic] == Approx(0.25));
    CHECK(all.received[nic] == Approx(0.25));
  }
  CHECK(all.variance == Approx(0).margin(1e-9));
  CHECK(all.fan_out() == Approx(1));
  // Cray MPICH sends through one NIC and receives through another (PCCL, figure 5).
  const NicShares one =
      shares_on("{name: frontier, nodes: 2, nic_binding: single_nic}", "pccl-ring");
  const auto busiest = [](const auto& shares) { return std::ranges::max_element(shares); };
  CHECK(*busiest(one.sent) == Approx(1));
  CHECK(*busiest(one.received) == Approx(1));
  CHECK(busiest(one.sent) - one.sent.begin() != busiest(one.received) - one.received.begin());
  CHECK(one.variance == Approx(3));  // shares 4, 0, 0, 0 around 1
  CHECK(one.fan_out() == Approx(0).margin(1e-9));
  NicShares half{.nics = 4, .variance = 1};  // two of four NICs carry half each
  half.sent = half.received = {0.5F, 0.5F};
  CHECK(half.fan_out() == Approx(1.0 / 3));
  CHECK(NicShares{.nics = 4}.fan_out() == 0);
  CHECK(shares_on("{name: frontier, nodes: 1}", "ring").nics == 0);
}

TEST_CASE("groups of features are switched on one at a time, and their number stays the same",
          "[env][features]") {
  const auto observed = [](const std::string& features) {
    const auto setup = setup_of(
        "{fabric: {name: frontier, nodes: 2}, actions: stock-nccl, "
        "features: " +
        features + ", " + kGathers + "}");
    CollectiveTuningEnv env(setup);
    OwnedBuffers buffers(env.spec());
    env.reset(1, buffers.view());
    env.step(action_named(*setup->actions, {"ring", "Simple", "8"}), buffers.view());
    return buffers.observation;
  };
  const CollectiveTuningEnv env(
      setup_of("{fabric: {name: frontier, nodes: 2}, actions: stock-nccl, features: size, " +
               kGathers + "}"));
  const auto& features = env.observation().features();
  const std::vector<float> all = observed("[size, machine, recent, counters]");
  REQUIRE(all.size() == features.size());
  for (std::size_t group = 0; group < kFeatureGroups; ++group) {
    CAPTURE(feature_group_names()[group]);
    const std::vector<float> some = observed(feature_group_names()[group]);
    REQUIRE(some.size() == all.size());
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool own = features[i].group == static_cast<FeatureGroup>(group);
      CHECK(some[i] == (own ? all[i] : 0.0F));
      any = any || some[i] != 0.0F;
    }
    CHECK(any);
  }
  CHECK(all[feature_index(env, "nic1_sent")] > 0);
  // Without the option, agents trained before can still be used.
  const CollectiveTuningEnv before(
      setup_of("{fabric: {name: frontier, nodes: 2}, actions: stock-nccl, " + kGathers + "}"));
  CHECK(before.observation().size() + 2 * 2 + 2 * kCountedNics + 1 == features.size());
}

TEST_CASE("a backend's last time is observed relative to the best backend", "[env][features]") {
  const auto setup = setup_of(
      "{fabric: {name: ndv4, nodes: 2}, actions: stock-nccl, features: "
      "[size, recent], " +
      kGathers + "}");
  CollectiveTuningEnv env(setup);
  OwnedBuffers buffers(env.spec());
  env.reset(1, buffers.view());
  const std::size_t time = info_index(env.spec(), CollectiveTuningEnv::kTime);
  const auto feature = [&](const std::string& name) {
    return static_cast<double>(buffers.observation[feature_index(env, name)]);
  };
  CHECK(feature("backend1_recent") == 0);
  env.step(action_named(*setup->actions, {"nccl-default"}), buffers.view());
  const double first = buffers.info[time];
  CHECK(feature("backend1_recent") == 1);
  CHECK(feature("backend2_recent") == 0);
  env.step(action_named(*setup->actions, {"ring", "Simple", "1"}), buffers.view());
  const double second = buffers.info[time];
  REQUIRE(second > first);
  CHECK(feature("backend1_over_best") == 0);
  CHECK(feature("backend1_recent") == Approx(64.0 / 65));
  CHECK(feature("backend2_over_best") == Approx(std::log(second / first)).epsilon(1e-5));
}

}  // namespace cclgym::test
