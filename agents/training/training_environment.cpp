#include "agents/training/training_environment.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "core/random.hpp"
#include "env/registry.hpp"
#include "env/tuning/estimates/action_prior.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kTuning = "CollectiveTuning-v0";

std::shared_ptr<const TuningSetup> setup_with(const YamlValue& options, const YamlValue& reward) {
  if (reward.is_null()) return read_tuning_setup(options);
  return read_tuning_setup(options, AlgorithmLibrary::shipped(), &reward);
}

}  // namespace

TrainingEnvironment::TrainingEnvironment(std::string name, const YamlValue& options,
                                         const SourceLocation& where, const YamlValue& reward)
    : name_(std::move(name)),
      options_(options),
      where_(where),
      setup_(name_ == kTuning ? setup_with(options, reward) : nullptr),
      spec_(make()->spec()) {}

std::shared_ptr<const TrainingEnvironment> make_training_environment(const std::string& name,
                                                                     const YamlValue& options,
                                                                     const SourceLocation& where,
                                                                     const YamlValue& reward) {
  return std::make_shared<const TrainingEnvironment>(name, options, where, reward);
}

std::unique_ptr<Environment> TrainingEnvironment::make() const {
  if (setup_) return std::make_unique<CollectiveTuningEnv>(setup_);
  return make_environment(name_, options_, where_);
}

PolicyShape TrainingEnvironment::network_shape(PolicyShape shape) const {
  shape.observations = spec_.observation_space.size();
  shape.levels.clear();
  for (const Discrete& dimension : spec_.action_space.dimensions()) {
    shape.levels.push_back(static_cast<std::size_t>(dimension.n));
  }
  return shape;
}

void TrainingEnvironment::describe(PolicyWeights& weights) const {
  weights.environment = name_;
  weights.features.clear();
  weights.knobs.clear();
  if (!setup_) {
    for (std::size_t i = 0; i < spec_.observation_space.size(); ++i) {
      weights.features.push_back(fmt::format("observation_{}", i));
    }
    for (const Discrete& dimension : spec_.action_space.dimensions()) {
      PolicyKnob& knob = weights.knobs.emplace_back();
      knob.name = fmt::format("action_{}", weights.knobs.size() - 1);
      for (std::int32_t i = 0; i < dimension.n; ++i) {
        knob.levels.push_back(std::to_string(dimension.start + i));
      }
    }
    return;
  }
  const CollectiveTuningEnv environment(setup_);
  for (const TuningFeature& feature : environment.observation().features()) {
    weights.features.push_back(feature.name);
  }
  const TuningActions& actions = *setup_->actions;
  for (const Knob knob : actions.knobs()) {
    weights.knobs.push_back({std::string(to_string(knob)), actions.levels(knob)});
  }
  weights.action_profile = action_profile_names()[static_cast<std::size_t>(actions.profile())];
}

EnvironmentMasks::EnvironmentMasks(const Environment& environment,
                                   std::span<const std::uint8_t> action_mask)
    : environment_(environment), action_mask_(action_mask) {
  for (const Discrete& dimension : environment.spec().action_space.dimensions()) {
    start_.push_back(dimension.start);
  }
  values_.resize(start_.size());
}

void EnvironmentMasks::mask(std::span<const std::int32_t> prefix,
                            std::span<std::uint8_t> out) const {
  for (std::size_t i = 0; i < prefix.size(); ++i) values_[i] = prefix[i] + start_[i];
  environment_.conditional_mask(action_mask_, std::span(values_).first(prefix.size()), out);
}

void levels_to_action(const Space& space, std::span<std::int32_t> levels) {
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] += space.dimensions()[i].start;
}

namespace {

bool rewards_times(const CollectiveTuningEnv& environment) {
  const RewardKind kind = environment.setup().reward.kind;
  return kind == RewardKind::NegativeTime || kind == RewardKind::AlphaBeta;
}

}  // namespace

float value_prior(const Environment& environment, ValuePrior kind) {
  const auto* tuning = dynamic_cast<const CollectiveTuningEnv*>(&environment);
  if (tuning == nullptr || kind == ValuePrior::None) return 0;
  return kind == ValuePrior::Bounds ? prior_of_bounds(*tuning) : prior_of_programs(*tuning);
}

float prior_of_programs(const CollectiveTuningEnv& environment) {
  const ActionPrior::Times times = environment.setup().prior->times(environment.next_call().call);
  if (times.best_s <= 0 || times.default_s <= 0) return prior_of_bounds(environment);
  if (rewards_times(environment)) return static_cast<float>(-times.best_s * 1e6);
  return static_cast<float>(portable_log(times.default_s / times.best_s));
}

float prior_of_bounds(const CollectiveTuningEnv& environment) {
  const FabricFeatures& fabric = environment.setup().fabric;
  const Call& call = environment.next_call().call;
  const double alpha_s = prior_alpha_s(fabric);
  if (fabric.rank_rate_Bps <= 0 || alpha_s <= 0 || fabric.diameter <= 0) return 0;
  const double passes = call.collective == CollectiveKind::AllReduce ? 2 : 1;
  const double ranks = fabric.ranks;
  const double bytes = static_cast<double>(call.bytes);
  double default_s = passes * (ranks - 1) * (alpha_s + bytes / ranks / fabric.rank_rate_Bps);
  double best_s =
      passes * (fabric.diameter * alpha_s + fabric.inverse_bisection_s_per_B * bytes / ranks);
  if (const CollectiveFront* front = environment.setup().actions->front(call.collective)) {
    best_s = front->points[front->best(bytes, alpha_s)].time_s(bytes, alpha_s);
    // NCCL's AllToAll sends directly, without steps.
    if (call.collective == CollectiveKind::AllToAll) {
      default_s = alpha_s + fabric.direct_s_per_B * bytes;
    }
  }
  if (rewards_times(environment)) return static_cast<float>(-best_s * 1e6);
  return static_cast<float>(portable_log(std::max(1.0, default_s / best_s)));
}

}  // namespace cclgym
