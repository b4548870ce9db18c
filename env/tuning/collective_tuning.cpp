#include "env/tuning/collective_tuning.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/size_class.hpp"
#include "sim/noise/noise_random.hpp"

namespace cclgym {

namespace {

enum Info : std::size_t {
  InfoTime,
  InfoExpected,
  InfoDefault,
  InfoOracle,
  InfoRegime,
  InfoBytes,
  InfoCollective,
  InfoEndsStep,
  InfoIllegal,
  InfoStepTime,
  InfoDefaultStepTime,
  InfoExposed,
};

// Option of reset().
const OptionSpec& regime_option() {
  static const OptionSpec spec{
      .name = "regime",
      .kind = OptionKind::Integer,
      .description =
          "number of the regime in which the machine stays; regimes change if it is not given",
      .min = 0,
      .max = 200};
  return spec;
}

Space observation_space(const TuningObservation& observation) {
  std::vector<float> low;
  std::vector<float> high;
  for (const TuningFeature& feature : observation.features()) {
    low.push_back(static_cast<float>(feature.low));
    high.push_back(static_cast<float>(feature.high));
  }
  return Box(std::move(low), std::move(high));
}

}  // namespace

CallObserver::CallObserver(const TuningSetup& setup, CallTimer& timer, TuningOracle& oracle)
    : setup_(setup),
      timer_(timer),
      oracle_(oracle),
      observation_(*setup.site, setup.fabric, setup.actions,
                   {.window = static_cast<std::size_t>(setup.window),
                    .action_features = setup.action_features,
                    .prior = setup.estimate_features ? setup.prior : nullptr,
                    .counters = setup.nic_counters != nullptr,
                    .groups = setup.feature_groups}) {}

TimedCall CallObserver::begin(const Call& call, std::span<const std::int32_t> action, bool legal) {
  done_.call = call;
  done_.backend = 0;
  if (legal) {
    const TuningActions& actions = *setup_.actions;
    done_.set_knobs(actions, action);
    done_.backend = actions.tuner_of(action).value_or(actions.options().tuners.size());
    done_.config = oracle_.config(call, action);
  } else {
    done_.knobs.fill(0.0F);
    done_.config = oracle_.reference(call);
  }
  const TimedCall expected = timer_.time(call, done_.config);
  done_.expected_s = expected.time_s;
  if (setup_.nic_counters &&
      setup_.feature_groups[static_cast<std::size_t>(FeatureGroup::Counters)]) {
    done_.nics = &setup_.nic_counters->shares(call, done_.config);
  }
  return expected;
}

void CallObserver::finish(double time_s) {
  done_.time_s = time_s;
  observation_.observe(done_);
}

CollectiveTuningEnv::CollectiveTuningEnv(std::shared_ptr<const TuningSetup> setup)
    : setup_(std::move(setup)),
      spec_{.name = "CollectiveTuning-v0",
            .observation_space = Discrete{},
            .action_space = setup_->actions->space(),
            .has_action_mask = true,
            .info_names = {kTime, kExpected, kDefault, kOracle, kRegime, kBytes, kCollective,
                           kEndsStep, kIllegal, kStepTime, kDefaultStepTime, kExposed},
            .reset_options = {regime_option()},
            .refuses_illegal_actions = setup_->refuses_illegal_actions},
      timer_(setup_->site, setup_->cache, setup_->timers),
      oracle_(setup_->actions, timer_, setup_->oracle_table),
      observer_(*setup_, timer_, oracle_),
      reward_(setup_->reward),
      workload_(setup_->make_workload()),
      chain_(setup_->regimes) {
  spec_.observation_space = observation_space(observation());
  const FabricFeatures& fabric = setup_->fabric;
  const Fabric& first = *setup_->site->fabrics.front();
  spec_.warnings.insert(spec_.warnings.end(), first.warnings().begin(), first.warnings().end());
  const std::string warning = cost_model_warning(setup_->site->cost_model, first);
  if (!warning.empty()) spec_.warnings.push_back(warning);
  for (const CollectiveKind collective : setup_->actions->untuned_collectives()) {
    spec_.warnings.push_back(
        fmt::format("NCCL asks no tuner about {}, so no job can use what is learned for it",
                    to_string(collective)));
  }
  for (const IdleProgram& program : setup_->idle_programs) {
    spec_.warnings.push_back(UserError(program.where, program.message()).what());
  }
  input_.alpha_s = prior_alpha_s(fabric);
}

void CollectiveTuningEnv::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                                const StepBuffers& out) {
  held_ = false;
  std::size_t regime = 0;
  if (!options.is_null()) {
    check_keys(options, spec_.reset_options, "reset options");
    const YamlValue wanted = option_value(options, regime_option());
    if (!wanted.is_null()) {
      regime = static_cast<std::size_t>(read_integer(wanted, regime_option()));
      if (regime >= setup_->regimes.regimes.size()) {
        throw UserError(wanted.location(), fmt::format("noise '{}' has regimes 0 to {}, found {}",
                                                       setup_->regimes.name,
                                                       setup_->regimes.regimes.size() - 1, regime));
      }
      held_ = true;
    }
  }
  random_.reset(seed);
  calls_ = 0;
  observer_.start();
  reward_.start();
  workload_->start(random_.stream());
  start_step();
  if (held_) {
    chain_.hold(regime, random_.stream());
  } else {
    chain_.start(random_.stream());
  }
  next_ = workload_->next(random_.stream());
  std::ranges::fill(out.info, kNoInfo);
  write(out);
}

// Times of the configuration with which the reward compares, that of the default unless the setup
// names another tuner and it chooses for the call: with the noise of this call, with its own, and
// without noise. Returns the default's time with the noise of this call, which is in info even if
// `over` names another tuner.
double CollectiveTuningEnv::time_default(std::size_t condition) {
  const auto time_s = [&](const PlainConfig& config, std::size_t in, std::uint16_t moment) {
    return timer_.time(next_.call, config, in, moment).time_s;
  };
  const PlainConfig reference = oracle_.reference(next_.call);
  const PlainConfig config =
      setup_->reward_over ? oracle_.choice(next_.call, *setup_->reward_over).value_or(reference)
                          : reference;
  const std::uint16_t moment = chain_.moment();
  const double own_s = time_s(config, condition, moment);
  const double other_s =
      chain_.other_moment() == moment ? own_s : time_s(config, condition, chain_.other_moment());
  input_.paired_s = own_s * chain_.factor();
  input_.default_s = other_s * chain_.other_factor();
  if (setup_->reward.tail_weight > 0) input_.typical_s = time_s(config, 0, 0);
  const double reference_s = config == reference ? own_s : time_s(reference, condition, moment);
  return reference_s * chain_.factor();
}

void CollectiveTuningEnv::show(const FeatureGroups& groups) {
  FeatureGroups shown = groups;
  for (std::size_t i = 0; i < kFeatureGroups; ++i) {
    shown[i] = shown[i] && setup_->feature_groups[i];
  }
  observer_.show(shown);
}

// Sets the steps and bytes that reward alpha-beta compares: those of a synthesised program and the
// bounds of its collective, where they are known.
void CollectiveTuningEnv::bound_costs(const Call& call, int steps) {
  const auto bytes = static_cast<double>(call.bytes);
  const FrontSchedule* schedule = setup_->actions->synthesised(observer_.done().config);
  input_.steps = schedule != nullptr ? schedule->steps : steps;
  input_.beta_s = schedule != nullptr ? schedule->s_per_B * bytes : -1;
  const CollectiveFront* front = setup_->actions->front(call.collective);
  if (front != nullptr && front->min_steps > 0 && front->min_s_per_B > 0) {
    input_.least_steps = front->min_steps;
    input_.least_beta_s = front->min_s_per_B * bytes;
    return;
  }
  const CollectiveBounds bounds = collective_bounds(setup_->fabric, call.collective, bytes);
  input_.least_steps = bounds.steps;
  input_.least_beta_s = bounds.data_s;
}

// Starts a step of the job in which no call has been chosen.
void CollectiveTuningEnv::start_step() {
  if (!setup_->job) return;
  choices_ = setup_->job->defaults();
  chosen_ = 0;
  step_time_s_ = setup_->job->default_step().time_s;
}

// Chooses the configuration of the next call of the job. If the reward does not need it, the job's
// step is simulated only after the last choice.
void CollectiveTuningEnv::choose_in_step(const PlainConfig& config, std::span<double> info) {
  info[InfoStepTime] = info[InfoDefaultStepTime] = info[InfoExposed] = kNoInfo;
  if (!setup_->job) return;
  choices_[chosen_++] = config;
  if (!setup_->rewards_steps && chosen_ < choices_.size()) return;
  const JobStep step = setup_->job->step(choices_);
  input_.step_before_s = step_time_s_;
  input_.step_after_s = step_time_s_ = step.time_s;
  info[InfoStepTime] = step.time_s * 1e6;
  info[InfoDefaultStepTime] = setup_->job->default_step().time_s * 1e6;
  info[InfoExposed] = step.exposed_s * 1e6;
  if (chosen_ == choices_.size()) start_step();
}

StepOutcome CollectiveTuningEnv::step(std::span<const std::int32_t> action,
                                      const StepBuffers& out) {
  check_action(spec_, action);
  const Call& call = next_.call;
  const bool legal = setup_->actions->legal(call, action);
  if (!legal && spec_.refuses_illegal_actions) {
    throw InvalidAction(fmt::format("{}: '{}' is not legal for {} on {}: {}", spec_.name,
                                    setup_->actions->describe(action), to_string(call.collective),
                                    setup_->fabric_label, setup_->actions->misfit(call, action)));
  }
  const std::size_t condition = this->condition();
  const TimedCall expected = observer_.begin(call, action, legal);
  const PlainConfig& config = observer_.done().config;
  const TimedCall simulated =
      condition == 0 ? expected : timer_.time(call, config, condition, chain_.moment());
  const double time_s = simulated.time_s * chain_.factor();

  out.info[InfoOracle] =
      setup_->oracle ? oracle_.best(call, condition, chain_.moment()).time_s * chain_.factor() * 1e6
                     : kNoInfo;
  const double default_s = time_default(condition);
  input_.time_s = time_s;
  input_.call_class = size_class(call);
  if (setup_->rewarded_nics) input_.fan_out = setup_->rewarded_nics->shares(call, config).fan_out();
  input_.expected_s = expected.time_s;
  bound_costs(call, expected.steps);
  input_.context = next_.context;
  choose_in_step(config, out.info);
  observer_.finish(time_s);
  input_.shared_network = observation().shared_network();
  StepOutcome outcome;
  outcome.reward = reward_.reward(input_);

  out.info[InfoTime] = time_s * 1e6;
  out.info[InfoExpected] = expected.time_s * 1e6;
  out.info[InfoDefault] = default_s * 1e6;
  out.info[InfoRegime] = static_cast<double>(chain_.regime());
  out.info[InfoBytes] = static_cast<double>(call.bytes);
  out.info[InfoCollective] = static_cast<double>(call.collective);
  out.info[InfoEndsStep] = next_.context.ends_step ? 1 : 0;
  out.info[InfoIllegal] = legal ? 0 : 1;

  outcome.truncated = ++calls_ == setup_->episode_calls;
  next_ = workload_->next(random_.stream());
  if (held_) {
    chain_.stay(random_.stream());
  } else {
    chain_.advance(random_.stream());
  }
  write(out);
  return outcome;
}

void CollectiveTuningEnv::write(const StepBuffers& out) const {
  observer_.write(next_, out.observation);
  setup_->actions->mask(next_.call, out.action_mask);
}

std::string CollectiveTuningEnv::describe_action(std::span<const std::int32_t> action) const {
  check_action(spec_, action);
  return setup_->actions->describe(action);
}

void CollectiveTuningEnv::conditional_mask(std::span<const std::uint8_t> /*action_mask*/,
                                           std::span<const std::int32_t> prefix,
                                           std::span<std::uint8_t> out) const {
  setup_->actions->conditional_mask(next_.call, prefix, out);
}

}  // namespace cclgym
