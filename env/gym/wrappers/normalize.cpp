#include "env/gym/wrappers/normalize.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace cclgym {

void RunningMoments::update_element(std::size_t element, double value, double new_count) {
  const double delta = value - mean_[element];
  mean_[element] += delta / new_count;
  variance_[element] =
      (variance_[element] * count_ + delta * delta * count_ / new_count) / new_count;
}

void RunningMoments::update(std::span<const float> value) {
  const double new_count = count_ + 1;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    update_element(i, static_cast<double>(value[i]), new_count);
  }
  count_ = new_count;
}

void RunningMoments::update(double value) {
  update_element(0, value, count_ + 1);
  count_ += 1;
}

NormalizeObservation::NormalizeObservation(std::unique_ptr<Environment> inner_environment,
                                           double epsilon)
    : Wrapper(std::move(inner_environment)),
      spec_(inner().spec()),
      raw_(spec_.observation_space.size()),
      moments_(spec_.observation_space.size()),
      epsilon_(epsilon) {
  const auto* box = std::get_if<Box>(&spec_.observation_space.kind());
  if (box == nullptr) {
    throw std::invalid_argument("NormalizeObservation: the observations of " + spec_.name +
                                "must be in a Box, not " + spec_.observation_space.text());
  }
  if (!(epsilon > 0)) throw std::invalid_argument("NormalizeObservation: epsilon <= 0");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  spec_.observation_space = Box(-kInfinity, kInfinity, box->shape());
  spec_.keeps_statistics = true;
}

void NormalizeObservation::normalize(std::span<float> out) {
  if (updating_) moments_.update(raw_);
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    out[i] = static_cast<float>((static_cast<double>(raw_[i]) - moments_.mean()[i]) /
                                std::sqrt(moments_.variance()[i] + epsilon_));
  }
}

void NormalizeObservation::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                                 const StepBuffers& out) {
  inner().reset(seed, options, {raw_, out.action_mask, out.info});
  normalize(out.observation);
}

StepOutcome NormalizeObservation::step(std::span<const std::int32_t> action,
                                       const StepBuffers& out) {
  const StepOutcome outcome = inner().step(action, {raw_, out.action_mask, out.info});
  normalize(out.observation);
  return outcome;
}

NormalizeReward::NormalizeReward(std::unique_ptr<Environment> inner_environment, double gamma,
                                 double epsilon)
    : Wrapper(std::move(inner_environment)),
      spec_(inner().spec()),
      gamma_(gamma),
      epsilon_(epsilon) {
  if (!(gamma >= 0 && gamma <= 1)) {
    throw std::invalid_argument("NormalizeReward: gamma is not in [0, 1]");
  }
  if (!(epsilon > 0)) throw std::invalid_argument("NormalizeReward: epsilon <= 0");
  spec_.keeps_statistics = true;
}

StepOutcome NormalizeReward::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  StepOutcome outcome = inner().step(action, out);
  // As in Gymnasium, the sum continues over truncations, and the end of an episode discards
  // everything before its last reward.
  discounted_ = discounted_ * gamma_ * (outcome.terminated ? 0.0 : 1.0) + outcome.reward;
  if (updating_) moments_.update(discounted_);
  outcome.reward /= std::sqrt(moments_.variance()[0] + epsilon_);
  return outcome;
}

}  // namespace cclgym
