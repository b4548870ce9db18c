#include "env/gym/vector_env.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace cclgym {

namespace {

template <class Number>
std::span<Number> row_of(std::vector<Number>& rows, std::size_t row, std::size_t width) {
  return std::span<Number>(rows).subspan(row * width, width);
}

template <class Number>
void copy_row(const std::vector<Number>& from, std::vector<Number>& to, std::size_t row,
              std::size_t width) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * width);
  std::copy_n(begin, width, to.begin() + static_cast<std::ptrdiff_t>(row * width));
}

}  // namespace

std::string_view to_string(Autoreset autoreset) {
  switch (autoreset) {
    case Autoreset::NextStep:
      return "NextStep";
    case Autoreset::SameStep:
      return "SameStep";
    default:
      return "Disabled";
  }
}

VectorEnv::VectorEnv(const std::vector<EnvironmentMaker>& makers, Autoreset autoreset)
    : metadata_{.autoreset = autoreset} {
  if (makers.empty()) throw std::invalid_argument("VectorEnv: expected at least one environment");
  for (const EnvironmentMaker& maker : makers) {
    environments_.push_back(maker());
    const EnvironmentSpec& spec = environments_.back()->spec();
    if (!(spec.observation_space == single_spec().observation_space) ||
        !(spec.action_space == single_spec().action_space) ||
        spec.info_names != single_spec().info_names) {
      throw std::invalid_argument(
          fmt::format("VectorEnv: environment {} ({}) has other spaces or infos than environment 0 "
                      "({})",
                      environments_.size() - 1, spec.name, single_spec().name));
    }
  }
  const std::size_t count = size();
  const EnvironmentSpec& spec = single_spec();
  buffers_.observations.assign(count * spec.observation_space.size(), 0.0F);
  buffers_.action_masks.assign(count * spec.action_space.mask_size(), 1);
  buffers_.infos.assign(count * spec.info_names.size(), kNoInfo);
  buffers_.rewards.assign(count, 0);
  buffers_.terminated.assign(count, 0);
  buffers_.truncated.assign(count, 0);
  buffers_.finished.assign(count, 0);
  buffers_.final_observations = buffers_.observations;
  buffers_.final_action_masks = buffers_.action_masks;
  buffers_.final_infos = buffers_.infos;
  seeds_.resize(count);
  selected_.assign(count, 1);
  errors_.resize(count);
  states_.assign(count, State::Fresh);
}

StepBuffers VectorEnv::row(std::size_t environment) {
  const EnvironmentSpec& spec = single_spec();
  return {row_of(buffers_.observations, environment, spec.observation_space.size()),
          row_of(buffers_.action_masks, environment, spec.action_space.mask_size()),
          row_of(buffers_.infos, environment, spec.info_names.size())};
}

void VectorEnv::set_seeds(std::optional<std::uint64_t> seed) {
  for (std::size_t i = 0; i < size(); ++i) {
    seeds_[i] = seed ? std::optional(*seed + i) : std::nullopt;
  }
}

void VectorEnv::reset(std::optional<std::uint64_t> seed, const YamlValue& options) {
  set_seeds(seed);
  reset(seeds_, options);
}

void VectorEnv::reset(std::span<const std::optional<std::uint64_t>> seeds,
                      const YamlValue& options) {
  reset_some(std::vector<std::uint8_t>(size(), 1), seeds, options);
}

void VectorEnv::reset_some(std::span<const std::uint8_t> mask, std::optional<std::uint64_t> seed,
                           const YamlValue& options) {
  set_seeds(seed);
  reset_some(mask, seeds_, options);
}

void VectorEnv::reset_some(std::span<const std::uint8_t> mask,
                           std::span<const std::optional<std::uint64_t>> seeds,
                           const YamlValue& options) {
  if (seeds.size() != size()) {
    throw std::logic_error(
        fmt::format("VectorEnv::reset: {} seeds for {} environments", seeds.size(), size()));
  }
  if (mask.size() != size()) {
    throw std::logic_error(
        fmt::format("VectorEnv::reset_some: {} bytes for {} environments", mask.size(), size()));
  }
  if (seeds.data() != seeds_.data()) std::copy(seeds.begin(), seeds.end(), seeds_.begin());
  std::copy(mask.begin(), mask.end(), selected_.begin());
  options_ = options;
  run_all(Command::Reset);
  options_ = {};
  rethrow_first();
}

void VectorEnv::step(std::span<const std::int32_t> actions) {
  if (actions.size() != size() * single_spec().action_space.size()) {
    throw InvalidAction(fmt::format("{}: {} numbers for {} actions of {}", single_spec().name,
                                    actions.size(), size(), single_spec().action_space.text()));
  }
  actions_ = actions;
  run_all(Command::Step);
  rethrow_first();
}

void VectorEnv::run_one(Command command, std::size_t environment) noexcept {
  try {
    if (command == Command::Step) {
      step_one(environment);
    } else if (selected_[environment] != 0) {
      states_[environment] = State::Fresh;  // stays Fresh if the reset throws
      environments_[environment]->reset(seeds_[environment], options_, row(environment));
      begin_episode(environment);
    }
  } catch (...) {
    errors_[environment] = std::current_exception();
  }
}

void VectorEnv::begin_episode(std::size_t environment) {
  buffers_.rewards[environment] = 0;
  buffers_.terminated[environment] = 0;
  buffers_.truncated[environment] = 0;
  buffers_.finished[environment] = 0;
  states_[environment] = State::Running;
}

void VectorEnv::step_one(std::size_t environment) {
  Environment& env = *environments_[environment];
  State& state = states_[environment];
  if (state == State::Fresh) {
    throw ResetNeeded(fmt::format("{}: step() before the first reset() of environment {}",
                                  env.spec().name, environment));
  }
  const StepBuffers out = row(environment);
  if (state == State::Ended) {
    if (metadata_.autoreset == Autoreset::Disabled) {
      throw ResetNeeded(fmt::format(
          "{}: environment {} is at the end of an episode; without autoreset, reset it first",
          env.spec().name, environment));
    }
    state = State::Fresh;
    env.reset(std::nullopt, YamlValue(), out);
    begin_episode(environment);
    return;
  }
  const std::size_t width = single_spec().action_space.size();
  StepOutcome outcome;
  try {
    outcome = env.step(actions_.subspan(environment * width, width), out);
  } catch (const InvalidAction& error) {
    throw InvalidAction(fmt::format("environment {}: {}", environment, error.what()));
  }
  buffers_.rewards[environment] = outcome.reward;
  buffers_.terminated[environment] = outcome.terminated ? 1 : 0;
  buffers_.truncated[environment] = outcome.truncated ? 1 : 0;
  buffers_.finished[environment] = 0;
  if (!outcome.done()) return;
  if (metadata_.autoreset != Autoreset::SameStep) {
    state = State::Ended;
    return;
  }
  // The reset below overwrites the row.
  const EnvironmentSpec& spec = single_spec();
  copy_row(buffers_.observations, buffers_.final_observations, environment,
           spec.observation_space.size());
  copy_row(buffers_.action_masks, buffers_.final_action_masks, environment,
           spec.action_space.mask_size());
  copy_row(buffers_.infos, buffers_.final_infos, environment, spec.info_names.size());
  buffers_.finished[environment] = 1;
  state = State::Fresh;
  env.reset(std::nullopt, YamlValue(), out);
  state = State::Running;
}

void VectorEnv::rethrow_first() {
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void VectorEnv::conditional_mask(std::size_t environment, std::span<const std::int32_t> prefix,
                                 std::span<std::uint8_t> out) const {
  const std::size_t width = single_spec().action_space.mask_size();
  environments_[environment]->conditional_mask(
      std::span(buffers_.action_masks).subspan(environment * width, width), prefix, out);
}

SyncVectorEnv::SyncVectorEnv(const std::vector<EnvironmentMaker>& makers, Autoreset autoreset)
    : VectorEnv(makers, autoreset) {}

void SyncVectorEnv::run_all(Command command) {
  for (std::size_t i = 0; i < size(); ++i) run_one(command, i);
}

void sample_legal_action(const VectorEnv& envs, std::size_t environment, Random& random,
                         std::span<std::uint8_t> scratch, std::span<std::int32_t> out) {
  const auto dimensions = envs.single_spec().action_space.dimensions();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto mask = scratch.first(static_cast<std::size_t>(dimensions[i].n));
    envs.conditional_mask(environment, out.first(i), mask);
    out[i] = dimensions[i].start + static_cast<std::int32_t>(sample_index(random, mask));
  }
}

std::vector<EnvironmentMaker> same_makers(std::size_t count, const EnvironmentMaker& maker) {
  return std::vector<EnvironmentMaker>(count, maker);
}

}  // namespace cclgym
