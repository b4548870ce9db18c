#pragma once

#include "env/gym/wrapper.hpp"

namespace cclgym {

/// Truncates an episode at step `max_steps` unless it ends before; throws ResetNeeded for any later
/// step.
class TimeLimit : public Wrapper {
 public:
  /// Throws std::invalid_argument if max_steps < 1.
  TimeLimit(std::unique_ptr<Environment> inner, std::int64_t max_steps);

  using Wrapper::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

 private:
  std::int64_t max_steps_;
  std::int64_t steps_ = 0;
};

}  // namespace cclgym
