// Wrappers: environments around an environment that change its inputs or outputs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/gym/environment.hpp"

namespace cclgym {

/// Forwards every call. A wrapper overrides the calls it changes; if it changes the spec, it keeps
/// a spec of its own.
class Wrapper : public Environment {
 public:
  explicit Wrapper(std::unique_ptr<Environment> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const EnvironmentSpec& spec() const override { return inner_->spec(); }
  using Environment::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override {
    inner_->reset(seed, options, out);
  }
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override {
    return inner_->step(action, out);
  }
  void conditional_mask(std::span<const std::uint8_t> action_mask,
                        std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const override {
    inner_->conditional_mask(action_mask, prefix, out);
  }
  [[nodiscard]] std::shared_ptr<const std::vector<std::int32_t>> possible_actions() const override {
    return inner_->possible_actions();
  }
  [[nodiscard]] std::span<const std::uint8_t> possible_mask() const override {
    return inner_->possible_mask();
  }
  [[nodiscard]] std::string describe_action(std::span<const std::int32_t> action) const override {
    return inner_->describe_action(action);
  }

 protected:
  [[nodiscard]] Environment& inner() { return *inner_; }
  [[nodiscard]] const Environment& inner() const { return *inner_; }

 private:
  std::unique_ptr<Environment> inner_;
};

/// Throws ResetNeeded for a step before the first reset, after the end of an episode, and after a
/// reset that threw. make_environment wraps every environment in it.
class OrderEnforcing : public Wrapper {
 public:
  using Wrapper::reset;
  using Wrapper::Wrapper;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

 private:
  enum class State : std::uint8_t { Fresh, Running, Ended };
  State state_ = State::Fresh;
};

}  // namespace cclgym
