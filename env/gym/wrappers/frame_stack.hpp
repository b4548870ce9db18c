#pragma once

#include <vector>

#include "env/gym/wrapper.hpp"

namespace cclgym {

/// Stacks the last `frames` observations, oldest first: shape (frames, ...). A reset fills all
/// frames with its observation.
class FrameStack : public Wrapper {
 public:
  /// Throws std::invalid_argument if the observation space is not a Box, or frames < 1.
  FrameStack(std::unique_ptr<Environment> inner, std::size_t frames);

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Wrapper::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

 private:
  EnvironmentSpec spec_;
  std::vector<float> frame_;  ///< newest observation
  std::vector<float> stack_;  ///< all frames, oldest first
};

}  // namespace cclgym
