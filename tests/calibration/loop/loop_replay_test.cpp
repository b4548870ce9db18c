// The learner and a trained policy in a replay of the shipped sweeps: a machine that changes
// between four states, and whose times are drawn from the samples of the sweep of the present
// state.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "calibration/loop/loop_plan.hpp"
#include "core/files/text_file.hpp"
#include "core/random.hpp"
#include "deploy/loop/table_learner.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "experiments/measured/measured_file.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace cclgym::test {
namespace {

constexpr std::array kStates{"idle", "traffic", "slow-link", "slow-host"};

/// Times of a configuration of a call in one state.
struct Swept {
  std::vector<double> samples_s;
  double usual_s = std::numeric_limits<double>::infinity();
};
/// By state, call and configuration of the plan.
using SweptMachine = std::vector<std::vector<std::vector<Swept>>>;

SweptMachine swept_machine(const LoopConfig& config, const LoopPlan& plan) {
  SweptMachine machine;
  for (const LoopSweep& sweep : config.hindsight) {
    const std::vector<Measurement> rows = read_measured_file(sweep.measured);
    auto& calls = machine.emplace_back();
    for (const LoopPlanCall& planned : plan.calls) {
      auto& configs = calls.emplace_back();
      for (const MpiConfig& one : planned.configs) {
        Swept& swept = configs.emplace_back();
        for (const Measurement& row : rows) {
          if (row.collective != planned.call.collective || row.bytes != planned.call.bytes)
            continue;
          const bool own = row.named ? row.named->algorithm == one.algorithm &&
                                           row.named->tile_bytes == one.segment_bytes
                                     : row.tuner == one.algorithm;
          if (!own) continue;
          swept.usual_s = usual_time(row.samples_s);
          swept.samples_s = row.samples_s;
        }
      }
    }
  }
  return machine;
}

/// Index of a state in kStates, which are the sweeps in their order.
std::size_t state_named(const std::string& label) {
  const auto found = std::ranges::find(kStates, label);
  REQUIRE(found != kStates.end());
  return static_cast<std::size_t>(found - kStates.begin());
}

struct Replayed {
  double over_frozen = 0;
  double over_hindsight = 0;
  double over_oracle = 0;
  double states = 0;
  double alarms = 0;
};

// Plays the loop with its events. `make` makes a call in a state and returns its time, s;
// `policies` make each call, with a pause before it.
template <class Make>
void play(const LoopConfig& config, const LoopPlan& plan, int policies, const Make& make) {
  std::size_t next = 0;
  std::size_t state = 0;
  for (double now_s = 0; now_s < config.seconds;) {
    for (std::size_t call = 0; call < plan.calls.size(); ++call) {
      while (next < config.events.size() && now_s >= config.events[next].at_s) {
        state = state_named(config.events[next++].label);
      }
      now_s += policies * (make(state, call) + config.compute_s + 1e-3);
    }
  }
}

// A call as the leader measures it: one of the sweep's times, and the interfaces' bytes, at which
// traffic is seen.
LearnerCall measured_call(const Swept& swept, std::size_t state, std::size_t call,
                          std::size_t config, Random& random) {
  const double drawn_s = swept.samples_s[static_cast<std::size_t>(
      random.integer(0, static_cast<std::int64_t>(swept.samples_s.size()) - 1))];
  const double bytes = (state == 1 ? 1.5e6 : 1e6) * (1 + 0.02 * random.uniform());
  return {.group = call, .config = config, .time_s = drawn_s, .bytes = bytes};
}

Replayed replay(const LoopConfig& config, const LoopPlan& plan, const SweptMachine& machine,
                std::uint64_t seed) {
  std::vector<std::vector<double>> prior_s;
  for (const LoopPlanCall& call : plan.calls) prior_s.push_back(call.prior_s);
  TableLearner learner(prior_s);
  const std::vector<std::uint16_t> frozen = learner.table();
  const std::vector<std::uint16_t>& hindsight = plan.lanes.back().table;
  REQUIRE(plan.lanes.back().name == kHindsightLane);
  Random random = Random::stream(seed, {});
  double agent_s = 0;
  double frozen_s = 0;
  double hindsight_s = 0;
  double oracle_s = 0;
  play(config, plan, 4, [&](std::size_t state, std::size_t call) {
    const auto& times = machine[state][call];
    const std::size_t own = learner.table()[call];
    const Swept& swept = times[own];
    REQUIRE(!swept.samples_s.empty());
    double best_s = swept.usual_s;
    for (const Swept& each : times) best_s = std::min(best_s, each.usual_s);
    agent_s += swept.usual_s;
    frozen_s += times[frozen[call]].usual_s;
    hindsight_s += times[hindsight[call]].usual_s;
    oracle_s += best_s;
    (void)learner.observe(measured_call(swept, state, call, own, random));
    return swept.usual_s;
  });
  return {.over_frozen = agent_s / frozen_s,
          .over_hindsight = agent_s / hindsight_s,
          .over_oracle = agent_s / oracle_s,
          .states = static_cast<double>(learner.states()),
          .alarms = static_cast<double>(learner.alarms())};
}

/// A trained policy's total time relative to other tables.
struct PolicyReplayed {
  double over_blind = 0;   ///< its own table without measurements
  double over_frozen = 0;  ///< the best table of the first sweep
};

// `within`: LoopPolicySpec::within.
PolicyReplayed replay_policy(double within) {
  LoopConfig config = load_loop_config(source_path("experiments/loop-netlab-2.yaml"));
  config.policy->within = within;
  const std::string path = source_path("calibration/results/netlab/loop-2/seed-1.policy");
  const PolicyFile file = parse_policy(read_text_file(path, kMostPolicyBytes), path);
  const LoopPlan plan = plan_loop(config, &file);
  const SweptMachine machine = swept_machine(config, plan);
  PolicyChooser& chooser = *plan.chooser;
  const std::vector<std::uint16_t> blind = chooser.table();
  const std::vector<std::uint16_t>& frozen = plan.lanes[1].table;
  REQUIRE(plan.lanes[1].name == kFrozenLane);
  Random random = Random::stream(1, {});
  double policy_s = 0;
  double blind_s = 0;
  double frozen_s = 0;
  play(config, plan, 6, [&](std::size_t state, std::size_t call) {
    const auto& times = machine[state][call];
    // A segment as large as the call is as none, and was not measured.
    const auto swept = [&](std::size_t config_at) -> const Swept& {
      return times[times[config_at].samples_s.empty() ? 0 : config_at];
    };
    const std::size_t own = chooser.table()[call];
    policy_s += swept(own).usual_s;
    blind_s += swept(blind[call]).usual_s;
    frozen_s += swept(frozen[call]).usual_s;
    (void)chooser.observe(measured_call(swept(own), state, call, own, random));
    return swept(own).usual_s;
  });
  return {.over_blind = policy_s / blind_s, .over_frozen = policy_s / frozen_s};
}

}  // namespace

TEST_CASE(
    "policy of a loop: in a replay of four sweeps, measured times make it faster, but not as "
    "fast as the table of a sweep") {
  const PolicyReplayed used = replay_policy(1.5);
  INFO("blind " << used.over_blind << ", frozen " << used.over_frozen);
  CHECK(used.over_blind < 0.97);
  CHECK((used.over_frozen > 1.04 && used.over_frozen < 1.08));
  const PolicyReplayed unlimited = replay_policy(0);
  INFO("without a limit: blind " << unlimited.over_blind << ", frozen " << unlimited.over_frozen);
  CHECK(unlimited.over_frozen > used.over_frozen);
  const PolicyReplayed narrow = replay_policy(1.25);
  INFO("narrow: blind " << narrow.over_blind << ", frozen " << narrow.over_frozen);
  CHECK((narrow.over_blind > 0.99 && narrow.over_blind < 1.01));
}

TEST_CASE("learner: in a replay of four sweeps it is faster than any table that stays") {
  const LoopConfig config = load_loop_config(source_path("experiments/loop-netlab.yaml"));
  const LoopPlan plan = plan_loop(config);
  const SweptMachine machine = swept_machine(config, plan);
  constexpr int kSeeds = 8;
  Replayed mean;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Replayed one = replay(config, plan, machine, seed);
    mean.over_frozen += one.over_frozen / kSeeds;
    mean.over_hindsight += one.over_hindsight / kSeeds;
    mean.over_oracle += one.over_oracle / kSeeds;
    mean.states += one.states / kSeeds;
    mean.alarms += one.alarms / kSeeds;
  }
  INFO("frozen " << mean.over_frozen << ", hindsight " << mean.over_hindsight << ", oracle "
                 << mean.over_oracle << ", states " << mean.states << ", alarms " << mean.alarms);
  CHECK(mean.over_frozen < 0.97);
  CHECK(mean.over_hindsight < 0.99);
  CHECK(mean.over_oracle < 1.03);
  CHECK((mean.states >= 4 && mean.states < 4.6));
  CHECK((mean.alarms >= 13 && mean.alarms < 16));  // 13 changes
}

}  // namespace cclgym::test
