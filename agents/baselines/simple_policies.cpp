#include "agents/baselines/simple_policies.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

void TunerPolicy::begin_setup(const TuningSetup& setup) {
  const std::vector<std::string>& levels = setup.actions->levels(Knob::Algorithm);
  const auto found = std::ranges::find(levels, name());
  if (found == levels.end()) {
    throw UserError("policy '" + std::string(name()) +
                    "': the tuners of the environment do not include it");
  }
  action_.assign(setup.actions->knobs().size(), 0);
  action_.front() = static_cast<std::int32_t>(found - levels.begin());
}

void TunerPolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  if (actions().legal(call.collective, action_)) {
    std::ranges::copy(action_, action.begin());
    return;
  }
  std::ranges::copy(nearest_action(actions(), call.collective, actions().reference(call)),
                    action.begin());
}

void RandomPolicy::begin_episode(const Environment& environment, std::uint64_t seed) {
  random_ = Random::stream(seed, {0x72616e646f6dU});
  std::int32_t most = 1;
  for (const Discrete& dimension : environment.spec().action_space.dimensions()) {
    most = std::max(most, dimension.n);
  }
  scratch_.assign(static_cast<std::size_t>(most), 0);
}

void RandomPolicy::act(std::span<const float> /*observation*/,
                       std::span<const std::uint8_t> action_mask, const Environment& environment,
                       std::span<std::int32_t> action) {
  sample_legal_action(environment, action_mask, random_, scratch_, action);
}

void OraclePolicy::begin_setup(const TuningSetup& setup) {
  timer_ = std::make_unique<CallTimer>(setup.site, setup.cache);
  oracle_ = std::make_unique<TuningOracle>(setup.actions, *timer_, setup.oracle_table);
}

void OraclePolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const RegimeChain& chain = environment.chain();
  const BestAction best = oracle_->best(call, setup().condition_of[chain.regime()], chain.moment());
  const std::size_t n = action.size();
  std::ranges::copy(actions().legal_actions(call.collective).subspan(best.index * n, n),
                    action.begin());
}

std::shared_ptr<const TuningSetup> with_tuners(const std::shared_ptr<const TuningSetup>& setup,
                                               const std::vector<std::string>& tuners) {
  const TuningActions& actions = *setup->actions;
  TuningActions::Options options = actions.options();
  options.tuners.clear();
  options.collectives.clear();
  options.where = {};
  for (const std::string& level : actions.levels(Knob::Algorithm)) {
    if (is_tuner(level)) options.tuners.push_back(level);
  }
  const std::size_t before = options.tuners.size();
  for (const std::string& tuner : tuners) {
    if (std::ranges::find(options.tuners, tuner) == options.tuners.end()) {
      options.tuners.push_back(tuner);
      for (KnobLimit& limit : options.limits) {
        if (limit.knob == to_string(Knob::Algorithm)) limit.levels.push_back({tuner, {}});
      }
    }
  }
  if (options.tuners.size() == before) return setup;
  for (const CollectiveKind collective : all_collectives()) {
    if (actions.legal_count(collective) > 0) options.collectives.push_back(collective);
  }
  auto extended = std::make_shared<TuningSetup>(*setup);
  extended->actions = std::make_shared<const TuningActions>(setup->site, options);
  extended->flat_actions = std::make_shared<const FlatTuningActions>(*extended->actions);
  extended->oracle_table =
      std::make_shared<OracleTable>(setup->site, extended->actions, setup->cache);
  // The oracle is that of the original environment.
  extended->oracle = false;
  return extended;
}

}  // namespace cclgym
