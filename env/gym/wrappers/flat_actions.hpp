#pragma once

#include "env/gym/wrapper.hpp"

namespace cclgym {

/// Replaces the action space by a Discrete with one number per action that is legal in some state.
/// The mask is exact: an action drawn under it is legal even where the dimensions of the inner
/// environment depend on each other.
class FlatActions : public Wrapper {
 public:
  /// Throws std::invalid_argument if the inner environment cannot list its actions or has none.
  explicit FlatActions(std::unique_ptr<Environment> inner);

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Wrapper::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;
  void conditional_mask(std::span<const std::uint8_t> action_mask,
                        std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const override;
  [[nodiscard]] std::shared_ptr<const std::vector<std::int32_t>> possible_actions() const override;
  [[nodiscard]] std::span<const std::uint8_t> possible_mask() const override { return {}; }
  [[nodiscard]] std::string describe_action(std::span<const std::int32_t> action) const override;

  /// Inner action of a number, which must be in the action space.
  [[nodiscard]] std::span<const std::int32_t> inner_action(std::int32_t number) const;

 private:
  void write_mask(std::span<std::uint8_t> out);
  void write_mask(std::size_t begin, std::size_t end, std::span<std::uint8_t> out);

  EnvironmentSpec spec_;
  std::shared_ptr<const std::vector<std::int32_t>> actions_;
  std::size_t width_;                      ///< integers of an inner action
  std::vector<std::uint8_t> inner_mask_;   ///< the mask that the inner environment wrote
  std::vector<std::uint8_t> conditional_;  ///< masks of the current prefix, one per dimension
  std::vector<std::int32_t> prefix_;
};

}  // namespace cclgym
