// V_prior(s, a) with each program's own S, R and C, compared with closed forms.
#include "env/tuning/estimates/action_prior.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "env/tuning/tuning_testing.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

PlainConfig config_of(const TuningSetup& setup, const std::string& algorithm, Protocol protocol,
                      std::uint16_t channels = 1) {
  PlainConfig config;
  config.program = static_cast<std::uint16_t>(setup.site->algorithms.index_of(algorithm));
  config.protocol = protocol;
  config.channels = channels;
  return config;
}

const std::string kCalls =
    "actions: stock-nccl, workload: {name: sweep, collectives: [allreduce, allgather, alltoall, "
    "broadcast], sizes: [1KiB, 1MiB, 64MiB]}}";

}  // namespace

TEST_CASE("steps and loads are those of each program and collective", "[env][action-prior]") {
  const auto setup = setup_of("{fabric: {name: fully_connected, gpus: 8}, " + kCalls);
  PlanLoads loads(setup->site);
  const double link_Bps = setup->fabric.rank_rate_Bps / 7;
  const auto load = [&](CollectiveKind collective, const char* algorithm) {
    return loads.load(collective, config_of(*setup, algorithm, Protocol::Simple));
  };
  // A ring takes p - 1 steps per pass, and its only link carries (p - 1) / p of the data.
  CHECK(load(CollectiveKind::AllReduce, "ring").near_steps == 14);
  CHECK(load(CollectiveKind::AllReduce, "ring").s_per_B == Approx(14.0 / 8 / link_Bps));
  CHECK(load(CollectiveKind::AllGather, "ring").near_steps == 7);
  CHECK(load(CollectiveKind::AllGather, "ring").s_per_B == Approx(7.0 / 8 / link_Bps));
  // Direct sends take a step, and each link carries 1 / p.
  CHECK(load(CollectiveKind::AllToAll, "naive").near_steps == 1);
  CHECK(load(CollectiveKind::AllToAll, "naive").s_per_B == Approx(1.0 / 8 / link_Bps));
  // All data pass every link of a chain, in as many chunks as there are ranks.
  CHECK(load(CollectiveKind::Broadcast, "ring").near_steps == 7 + 7);
  CHECK(load(CollectiveKind::Broadcast, "ring").s_per_B == Approx(1 / link_Bps));
  CHECK(load(CollectiveKind::AllReduce, "ring").far_steps == 0);
}

TEST_CASE("no program beats its collective's bounds", "[env][action-prior]") {
  for (const std::string fabric :
       {"{name: fully_connected, gpus: 8}", "dgx1", "dgx2", "{name: ring, gpus: 6}"}) {
    const auto setup = setup_of(
        "{fabric: " + fabric +
        ", cost_model: hockney, actions: stock-nccl, workload: {name: sweep, sizes: [1KiB], "
        "collectives: [allreduce, allgather, reducescatter, broadcast, reduce, alltoall, "
        "alltonext]}}");
    PlanLoads loads(setup->site);
    for (const CollectiveKind collective : setup->actions->options().collectives) {
      INFO(fabric << ", " << to_string(collective));
      const CollectiveBounds bounds = collective_bounds(setup->fabric, collective, 1);
      const auto all = setup->actions->legal_actions(collective);
      for (std::size_t i = 0; i < setup->actions->legal_count(collective); ++i) {
        const auto action = all.subspan(3 * i, 3);
        if (setup->actions->tuner_of(action)) continue;
        const PlanLoad& load = loads.load(collective, setup->actions->config(collective, action));
        CHECK(load.s_per_B >= bounds.data_s * (1 - 1e-9));
      }
    }
  }
  const auto full = setup_of("{fabric: {name: fully_connected, gpus: 8}, " + kCalls)->fabric;
  CHECK(collective_bounds(full, CollectiveKind::AllReduce, 8).data_s ==
        Approx(2 * 7 / full.rank_rate_Bps));
  CHECK(collective_bounds(full, CollectiveKind::AllToAll, 8).data_s ==
        Approx(7 / full.rank_rate_Bps));
  CHECK(collective_bounds(full, CollectiveKind::Broadcast, 8).data_s ==
        Approx(8 / full.rank_rate_Bps));
  CHECK(collective_bounds(full, CollectiveKind::AllToNext, 8).steps == 1);
}

TEST_CASE("steps between nodes are told from steps within", "[env][action-prior]") {
  const auto setup = setup_of(
      "{fabric: {name: ndv4, servers: 2}, actions: offline, knobs: {threads: nccl, chunk: "
      "protocol, channels: 1, instances: 1}, workload: {name: sweep, sizes: [1MiB]}}");
  PlanLoads loads(setup->site);
  const auto load = [&](const char* algorithm) {
    return loads.load(CollectiveKind::AllReduce, config_of(*setup, algorithm, Protocol::Simple));
  };
  // Four exchanges, one of them with the other node.
  CHECK(load("recursive-doubling").near_steps == 3);
  CHECK(load("recursive-doubling").far_steps == 1);
  // In a ring, one connection after the other passes on 30 messages, those between nodes too.
  CHECK(load("ring").near_steps == 0);
  CHECK(load("ring").far_steps == 30);
}

TEST_CASE("the estimate of a call is S alpha + (R / C) bytes beta of the best action",
          "[env][action-prior]") {
  for (const std::string fabric :
       {"{name: fully_connected, gpus: 8}", "{name: ndv4, servers: 2}"}) {
    const auto setup = setup_of("{fabric: " + fabric + ", " + kCalls);
    PlanLoads loads(setup->site);
    const TuningActions& actions = *setup->actions;
    for (const Call& call : setup->listed_calls()) {
      double least_s = 1e9;
      const auto all = actions.legal_actions(call.collective);
      for (std::size_t i = 0; i < actions.legal_count(call.collective); ++i) {
        const PlainConfig config = actions.config(call, all.subspan(3 * i, 3));
        const PlanLoad& load = loads.load(call.collective, config);
        REQUIRE(load.known());
        const ProtocolFeatures& protocol =
            setup->fabric.protocols[static_cast<std::size_t>(config.protocol)];
        const double time_s = load.near_steps * protocol.alpha_s +
                              load.far_steps * protocol.network_alpha_s +
                              static_cast<double>(call.bytes) * load.s_per_B * protocol.wire_share;
        CHECK(setup->prior->time_s(call, config) == Approx(time_s));
        least_s = std::min(least_s, time_s);
      }
      const ActionPrior::Times times = setup->prior->times(call);
      CHECK(times.best_s == Approx(least_s));
      CHECK(times.default_s == Approx(setup->prior->time_s(call, actions.reference(call))));
      CHECK(times.best_s <= times.default_s);
      double of_levels_s = 1e9;
      for (std::size_t level = 0; level < actions.levels(Knob::Algorithm).size(); ++level) {
        const double one_s = setup->prior->level_s(call, static_cast<std::int32_t>(level));
        if (one_s > 0) of_levels_s = std::min(of_levels_s, one_s);
      }
      CHECK(of_levels_s == Approx(least_s));
    }
  }
}

TEST_CASE("estimate_features are the estimates of each algorithm with each protocol",
          "[env][action-prior]") {
  for (const std::string fabric : {"dgx1", "hgx-h100", "{name: ndv4, servers: 2}"}) {
    const std::string options = "{fabric: " + fabric + ", " + kCalls;
    const auto plain = setup_of(options);
    const auto setup =
        setup_of(options.substr(0, options.size() - 1) + ", estimate_features: true}");
    CollectiveTuningEnv env(setup);
    const TuningActions& actions = *setup->actions;
    const std::size_t programs = actions.levels(Knob::Algorithm).size() - 1;
    std::size_t levels = 0;
    for (const Knob knob : actions.knobs()) levels += actions.levels(knob).size();
    CHECK(env.observation().size() ==
          CollectiveTuningEnv(plain).observation().size() + 3 * programs + 1 + levels);
    std::vector<float> values(env.observation().size());
    const auto feature = [&](const std::string& name) {
      const auto& all = env.observation().features();
      const auto found = std::ranges::find(all, name, &TuningFeature::name);
      REQUIRE(found != all.end());
      return double{values[static_cast<std::size_t>(found - all.begin())]};
    };
    for (const Call& call : setup->listed_calls()) {
      INFO(fabric << ", " << to_string(call.collective) << ", " << call.bytes << " B");
      // By level and protocol, the least estimate of all legal actions.
      std::map<std::pair<std::string, std::string>, double> least_s;
      const auto all = actions.legal_actions(call.collective);
      for (std::size_t i = 0; i < actions.legal_count(call.collective); ++i) {
        const auto action = all.subspan(3 * i, 3);
        if (actions.tuner_of(action)) continue;
        const double time_s = setup->prior->estimate_s(call, actions.config(call, action));
        std::string name = actions.levels(Knob::Algorithm)[static_cast<std::size_t>(action[0])];
        std::ranges::replace(name, '-', '_');
        std::string protocol = actions.levels(Knob::Protocol)[static_cast<std::size_t>(action[1])];
        std::ranges::transform(protocol, protocol.begin(),
                               [](char c) { return static_cast<char>(std::tolower(c)); });
        const auto [entry, is_new] = least_s.try_emplace({name, protocol}, time_s);
        entry->second = std::min(entry->second, time_s);
      }
      const bool chooses = actions.chooses(0, call.collective);
      const double default_s =
          chooses ? setup->prior->estimate_s(call, actions.choose(0, call)) : 0;
      double best_s = default_s > 0 ? default_s : 1e9;
      for (const auto& [names, time_s] : least_s) best_s = std::min(best_s, time_s);
      env.observation().write({.call = call, .context = {}}, values);
      std::size_t known = 0;
      for (const std::string& level : actions.levels(Knob::Algorithm)) {
        if (level.starts_with("nccl-default")) continue;
        std::string name = level;
        std::ranges::replace(name, '-', '_');
        for (const std::string protocol : {"ll", "ll128", "simple"}) {
          const auto found = least_s.find({name, protocol});
          known += found != least_s.end() ? 1U : 0U;
          const double expected =
              found == least_s.end() ? 4 : std::min(4.0, std::log(found->second / best_s));
          CHECK(feature("estimate_" + name + "_" + protocol) ==
                Approx(expected).epsilon(1e-5).margin(1e-6));
        }
      }
      CHECK(known == least_s.size());
      CHECK(feature("estimate_default") ==
            Approx(default_s > 0 ? std::log(default_s / best_s) : 4).epsilon(1e-5).margin(1e-6));
      // The advised action is the first with the least estimate.
      const auto advised = setup->prior->advice(call);
      REQUIRE(advised.size() == 3);
      const double advised_s = setup->prior->estimate_s(call, actions.config(call, advised));
      for (const auto& [names, time_s] : least_s) CHECK(advised_s <= time_s);
      const auto level_of = [&](Knob knob, std::size_t i) {
        return "advised_" + std::string(to_string(knob)) + "_" +
               actions.levels(knob)[static_cast<std::size_t>(advised[i])];
      };
      CHECK(feature(level_of(Knob::Channels, 2)) == 1);
    }
  }
}
