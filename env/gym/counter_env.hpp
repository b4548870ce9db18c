// Counter-v0: the example to copy for a new environment, and the one on which the tests of
// wrappers, vector environments and the checker run.
//
// A counter starts at a random number and has to reach its target exactly. Each step adds 1 or 2
// (dimension 0) once or twice (dimension 1) and must not overshoot; the mask allows only choices
// that do not.
#pragma once

#include <cstdint>

#include "env/gym/environment.hpp"

namespace cclgym {

class CounterEnv : public Environment {
 public:
  /// Records of the options: {target: 10}.
  [[nodiscard]] static const std::vector<OptionSpec>& option_specs();

  /// `options`: null or a mapping of option_specs(). Throws UserError.
  explicit CounterEnv(const YamlValue& options = {});

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Environment::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;
  void conditional_mask(std::span<const std::uint8_t> action_mask,
                        std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const override;

 private:
  void write(const StepBuffers& out) const;

  std::int32_t target_;
  EnvironmentSpec spec_;
  EpisodeRandom random_;
  std::int32_t count_ = 0;
  std::int32_t steps_ = 0;
};

}  // namespace cclgym
