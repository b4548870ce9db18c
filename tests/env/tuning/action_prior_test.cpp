// V_prior(s, a) with each program's own S, R and C, compared with closed forms.
#include "env/tuning/action_prior.hpp"

#include <algorithm>

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
