#include "env/gym/driven_environment.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace cclgym {

namespace {

// NaN like kNoInfo, but with bits that no arithmetic produces.
const double kRubbishInfo = std::bit_cast<double>(std::uint64_t{0x7ff8'dead'beef'f00d});
const float kRubbishObservation = std::bit_cast<float>(std::uint32_t{0x7fc0'beef});
constexpr std::uint8_t kRubbishMask = 0xaa;

template <class Number>
std::string difference(const char* what, const std::vector<Number>& found,
                       const std::vector<Number>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&found[i], &expected[i], sizeof(Number)) != 0) {
      return fmt::format("{} {}: {}, not {}", what, i, found[i], expected[i]);
    }
  }
  return "";
}

}  // namespace

std::string difference(const StepRecord& found, const StepRecord& expected) {
  if (std::bit_cast<std::uint64_t>(found.outcome.reward) !=
      std::bit_cast<std::uint64_t>(expected.outcome.reward)) {
    return fmt::format("reward: {}, not {}", found.outcome.reward, expected.outcome.reward);
  }
  if (found.outcome.terminated != expected.outcome.terminated) return "terminated";
  if (found.outcome.truncated != expected.outcome.truncated) return "truncated";
  std::string text = difference("observation", found.observation, expected.observation);
  if (text.empty()) text = difference("action mask", found.action_mask, expected.action_mask);
  if (text.empty()) text = difference("info", found.info, expected.info);
  return text;
}

void Problems::add(std::string problem) {
  if (std::find(list_.begin(), list_.end(), problem) == list_.end()) {
    list_.push_back(std::move(problem));
  }
}

DrivenEnvironment::DrivenEnvironment(std::unique_ptr<Environment> environment, Problems& problems)
    : environment_(std::move(environment)),
      problems_(problems),
      buffers_{OwnedBuffers(spec()), OwnedBuffers(spec())},
      last_{.observation = buffers_[0].observation,
            .action_mask = buffers_[0].action_mask,
            .info = buffers_[0].info,
            .outcome = {}} {
  std::size_t widest = 0;
  for (const Discrete& dimension : spec().action_space.dimensions()) {
    widest = std::max(widest, static_cast<std::size_t>(dimension.n));
  }
  segment_.resize(widest);
}

StepBuffers DrivenEnvironment::next_buffers() {
  turn_ = 1 - turn_;
  OwnedBuffers& buffers = buffers_[turn_];
  std::fill(buffers.observation.begin(), buffers.observation.end(), kRubbishObservation);
  std::fill(buffers.action_mask.begin(), buffers.action_mask.end(),
            spec().has_action_mask ? kRubbishMask : std::uint8_t{1});
  std::fill(buffers.info.begin(), buffers.info.end(), kRubbishInfo);
  return buffers.view();
}

const StepRecord& DrivenEnvironment::take(const StepBuffers& out, const StepOutcome& outcome,
                                          const char* method) {
  const EnvironmentSpec& spec = environment_->spec();
  if (!spec.observation_space.contains(out.observation)) {
    problems_.add(fmt::format("{}: an observation is not in {}, or not completely written", method,
                              spec.observation_space.text()));
  }
  for (std::size_t i = 0; i < out.info.size(); ++i) {
    if (std::memcmp(&out.info[i], &kRubbishInfo, sizeof(double)) == 0) {
      problems_.add(fmt::format("{}: info '{}' is not written", method, spec.info_names[i]));
    } else if (std::isinf(out.info[i])) {
      problems_.add(fmt::format("{}: info '{}' is infinite", method, spec.info_names[i]));
    }
  }
  if (!spec.has_action_mask &&
      std::count(out.action_mask.begin(), out.action_mask.end(), std::uint8_t{1}) !=
          static_cast<std::ptrdiff_t>(out.action_mask.size())) {
    problems_.add(fmt::format(
        "{}: writes an action mask although the spec has has_action_mask = false", method));
  }
  if (!std::isfinite(outcome.reward)) {
    problems_.add(fmt::format("{}: a reward is {}", method, outcome.reward));
  }
  std::copy(out.observation.begin(), out.observation.end(), last_.observation.begin());
  std::copy(out.action_mask.begin(), out.action_mask.end(), last_.action_mask.begin());
  std::copy(out.info.begin(), out.info.end(), last_.info.begin());
  last_.outcome = outcome;
  try {
    spec.action_space.check_mask(last_.action_mask);
  } catch (const InvalidMask& error) {
    problems_.add(fmt::format("{}: {}", method, error.what()));
  }
  return last_;
}

const StepRecord& DrivenEnvironment::reset(std::optional<std::uint64_t> seed,
                                           const YamlValue& options) {
  const StepBuffers out = next_buffers();
  environment_->reset(seed, options, out);
  return take(out, {}, "reset");
}

const StepRecord& DrivenEnvironment::step(std::span<const std::int32_t> action) {
  const StepBuffers out = next_buffers();
  return take(out, environment_->step(action, out), "step");
}

void DrivenEnvironment::choose(Random& random, std::span<std::int32_t> out) {
  const Space& space = spec().action_space;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Discrete& dimension = space.dimensions()[i];
    const auto mask = std::span(segment_).first(static_cast<std::size_t>(dimension.n));
    std::fill(mask.begin(), mask.end(), kRubbishMask);
    environment_->conditional_mask(last_.action_mask, out.first(i), mask);
    bool choice = false;
    for (std::size_t j = 0; j < mask.size(); ++j) {
      if (mask[j] > 1) {
        problems_.add(
            fmt::format("conditional_mask: dimension {} has bytes other than 0 and 1, or is not "
                        "completely written",
                        i));
        mask[j] = 0;
      }
      if (mask[j] == 1 && last_.action_mask[space.mask_offset(i) + j] == 0) {
        problems_.add(fmt::format(
            "conditional_mask: dimension {} allows a value that the action mask forbids", i));
      }
      choice = choice || mask[j] == 1;
    }
    if (!choice) {
      problems_.add(fmt::format("conditional_mask: dimension {} has no choice left: all zeros", i));
      mask[0] = 1;
    }
    out[i] = dimension.start + static_cast<std::int32_t>(sample_index(random, mask));
  }
}

bool DrivenEnvironment::legal(std::span<const std::int32_t> action) const {
  const Space& space = spec().action_space;
  std::vector<std::uint8_t> mask;
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Discrete& dimension = space.dimensions()[i];
    mask.assign(static_cast<std::size_t>(dimension.n), 0);
    environment_->conditional_mask(last_.action_mask, action.first(i), mask);
    if (mask[static_cast<std::size_t>(action[i] - dimension.start)] == 0) return false;
  }
  return true;
}

}  // namespace cclgym
