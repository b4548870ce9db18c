// An environment whose observations, rewards and end are set by the test.
#pragma once

#include <vector>

#include "env/gym/environment.hpp"

namespace cclgym::test {

/// An environment that returns `observations[step]` (0 after a reset) and `rewards[step - 1]`,
/// terminates at step `length`, and accepts any of three actions.
class ProbeEnv : public Environment {
 public:
  explicit ProbeEnv(std::vector<std::vector<float>> observations, std::vector<double> rewards = {},
                    std::size_t length = 1000)
      : observations_(std::move(observations)),
        rewards_(std::move(rewards)),
        length_(length),
        spec_{.name = "Probe-v0",
              .observation_space = Box(-100, 100, {observations_[0].size()}),
              .action_space = Discrete{3},
              .info_names = {"step"}} {}

  const EnvironmentSpec& spec() const override { return spec_; }
  using Environment::reset;
  void reset(std::optional<std::uint64_t>, const YamlValue& options,
             const StepBuffers& out) override {
    check_reset_options(spec_, options);
    step_ = 0;
    write(out);
  }
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override {
    check_action(spec_, action);
    ++step_;
    write(out);
    const double reward = rewards_.empty() ? 0 : rewards_[(step_ - 1) % rewards_.size()];
    return {.reward = reward, .terminated = step_ >= length_};
  }

 private:
  void write(const StepBuffers& out) const {
    const auto& observation = observations_[step_ % observations_.size()];
    std::copy(observation.begin(), observation.end(), out.observation.begin());
    out.info[0] = static_cast<double>(step_);
  }

  std::vector<std::vector<float>> observations_;
  std::vector<double> rewards_;
  std::size_t length_;
  EnvironmentSpec spec_;
  std::size_t step_ = 0;
};

}  // namespace cclgym::test
