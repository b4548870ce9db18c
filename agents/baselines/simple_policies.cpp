#include "agents/baselines/simple_policies.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "core/error.hpp"
#include "env/tuning/estimates/action_prior.hpp"
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

void FirstTunerPolicy::choose(const CollectiveTuningEnv& environment,
                              std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const PlainConfig wanted = actions().reference(call);
  std::vector<std::int32_t> chosen(action.size(), 0);
  if (const auto spelled = actions().action_of(call.collective, wanted)) {
    chosen = *spelled;
  } else if (!actions().legal(call, chosen)) {
    chosen = nearest_action(actions(), call.collective, wanted);
  }
  std::ranges::copy(chosen, action.begin());
}

void FormulaPolicy::begin_setup(const TuningSetup& setup) {
  if (setup.actions->options().synth.empty()) {
    throw UserError(
        "policy 'formula': the environment has no synthesised programs as actions; expected an "
        "item synth:pareto, synth:throughput or synth in its programs");
  }
}

void FormulaPolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const auto bytes = static_cast<double>(call.bytes);
  const double alpha_s = prior_alpha_s(setup().fabric);
  const CollectiveFront* front = actions().front(call.collective);
  if (front == nullptr) {
    std::ranges::copy(nearest_action(actions(), call.collective, actions().reference(call)),
                      action.begin());
    return;
  }
  constexpr std::uint64_t kLatencyBound = 16U << 10U;
  constexpr std::uint64_t kBandwidthBound = 1U << 20U;
  PlainConfig wanted;
  wanted.protocol = call.bytes < kLatencyBound     ? Protocol::LL
                    : call.bytes < kBandwidthBound ? Protocol::LL128
                                                   : Protocol::Simple;
  const FrontSchedule& best = front->points[front->best(bytes, alpha_s)];
  // Without room for any copies, the nearest action runs another program.
  for (const FrontSchedule::Copies& copies : best.copies) {
    const auto program =
        static_cast<std::uint16_t>(actions().algorithms().index_of(copies.program));
    if (wanted.program != 0 && !runs(call.collective, program, wanted.protocol)) break;
    wanted.program = program;
  }
  wanted.channels = static_cast<std::uint16_t>(
      actions().algorithms().entries()[wanted.program].program->channels);
  std::ranges::copy(nearest_action(actions(), call.collective, wanted), action.begin());
}

// True if some legal action runs the program with this protocol.
bool FormulaPolicy::runs(CollectiveKind collective, std::uint16_t program,
                         Protocol protocol) const {
  const auto all = actions().legal_actions(collective);
  const std::size_t n = actions().knobs().size();
  for (std::size_t i = 0; i < all.size(); i += n) {
    const auto one = all.subspan(i, n);
    if (actions().tuner_of(one)) continue;
    const PlainConfig config = actions().config(collective, one);
    if (config.program == program && config.protocol == protocol) return true;
  }
  return false;
}

void EstimatePolicy::begin_setup(const TuningSetup& setup) {
  if (setup.fabric.ranks <= ActionPrior::kMostRanks) return;
  throw UserError(fmt::format("policy 'estimate': {} has {} ranks; expected at most {}",
                              setup.fabric_label, setup.fabric.ranks, ActionPrior::kMostRanks));
}

void EstimatePolicy::choose(const CollectiveTuningEnv& environment,
                            std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const std::span<const std::int32_t> advised = setup().prior->advice(call);
  if (!advised.empty()) {
    std::ranges::copy(advised, action.begin());
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
  const BestAction best = oracle_->best(call, environment.condition(), chain.moment());
  const std::size_t n = action.size();
  std::ranges::copy(actions().legal_actions(call.collective).subspan(best.index * n, n),
                    action.begin());
}

namespace {

constexpr std::size_t kOwnCache = std::size_t{1} << 16U;  // times

// The site with the programs that its tuners bring; the same site if its library has them.
std::shared_ptr<const CallSite> with_programs(const std::shared_ptr<const CallSite>& site,
                                              const TuningActions::Options& options) {
  AlgorithmLibrary library = site->algorithms;
  for (const std::string& tuner : options.tuners) {
    if (!brings_programs(tuner)) continue;
    library.add_all(make_tuner(tuner, {.fabric = site->fabrics.front(),
                                       .fabric_label = options.fabric_label,
                                       .cost_model = site->cost_model,
                                       .algorithms = library,
                                       .collectives = options.collectives})
                        ->algorithms());
  }
  if (library.entries().size() == site->algorithms.entries().size()) return site;
  auto extended = std::make_shared<CallSite>(*site);
  extended->algorithms = std::move(library);
  return extended;
}

}  // namespace

std::shared_ptr<const TuningSetup> with_tuners(const std::shared_ptr<const TuningSetup>& setup,
                                               const std::vector<std::string>& tuners) {
  const TuningActions& actions = *setup->actions;
  TuningActions::Options options = actions.options();
  options.collectives.clear();
  options.where = {};
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
  extended->site = with_programs(setup->site, options);
  // Times are known by the index of a program, so another library has a cache of its own.
  if (extended->site != setup->site) {
    extended->cache = std::make_shared<TimeCache>(kOwnCache);
    extended->timers = std::make_shared<CallTimerPool>(extended->site, extended->cache);
    if (setup->job) extended->job = setup->job->on(extended->site);
  }
  if (setup->nic_counters) extended->nic_counters = std::make_shared<NicCounters>(extended->site);
  extended->actions = std::make_shared<const TuningActions>(extended->site, options);
  extended->flat_actions = std::make_shared<const FlatTuningActions>(*extended->actions);
  extended->oracle_table =
      std::make_shared<OracleTable>(extended->site, extended->actions, extended->cache);
  // The oracle is that of the original environment.
  extended->oracle = false;
  return extended;
}

}  // namespace cclgym
