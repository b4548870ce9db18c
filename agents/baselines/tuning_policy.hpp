// What the policies for CollectiveTuning-v0 share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/policy.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// A policy that knows what the numbers of CollectiveTuning-v0 mean.
class TuningPolicy : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return name_; }
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;
  void observe(const PolicyFeedback& feedback) override;

 protected:
  explicit TuningPolicy(std::string name) : name_(std::move(name)) {}

  /// Another set of actions than before, or the first.
  virtual void begin_setup(const TuningSetup& /*setup*/) {}
  /// The action of the next call of `environment`.
  virtual void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) = 0;
  /// How long the call took, us.
  virtual void learn(double /*time_us*/) {}

  [[nodiscard]] const TuningSetup& setup() const { return *setup_; }
  [[nodiscard]] const TuningActions& actions() const { return *setup_->actions; }

 private:
  std::string name_;
  const TuningSetup* setup_ = nullptr;
  /// Of the actions that begin_setup saw: kept, so that no other set can have its address.
  std::shared_ptr<const TuningActions> known_;
  std::size_t time_ = 0;
};

/// The environment. Throws UserError if it is not CollectiveTuning-v0 itself.
[[nodiscard]] const CollectiveTuningEnv& tuning_environment(const Environment& environment,
                                                            std::string_view policy);

/// The legal action nearest to a configuration: the same program before the same protocol before
/// the same number of channels, then all else. The first of equals.
[[nodiscard]] std::vector<std::int32_t> nearest_action(const TuningActions& actions,
                                                       CollectiveKind collective,
                                                       const PlainConfig& config);

/// Calls of a kind: a collective, and a size to the power of two.
struct TuningCell {
  CollectiveKind collective = CollectiveKind::AllReduce;
  int log2_bytes = 0;  ///< rounded down
  friend auto operator<=>(const TuningCell&, const TuningCell&) = default;
};
[[nodiscard]] TuningCell cell_of_call(const Call& call);

/// `count` sizes from 1 KiB to 1 GiB, both included, in equal ratios, each a call of the collective
/// on so many ranks can have; ascending.
[[nodiscard]] std::vector<std::uint64_t> training_sizes(CollectiveKind collective, int ranks,
                                                        std::size_t count);

}  // namespace cclgym
