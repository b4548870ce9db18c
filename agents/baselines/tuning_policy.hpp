// Shared base of policies for CollectiveTuning-v0.
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

/// A policy that knows the meaning of CollectiveTuning-v0's numbers.
class TuningPolicy : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return name_; }
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;
  void observe(const PolicyFeedback& feedback) override;

 protected:
  explicit TuningPolicy(std::string name) : name_(std::move(name)) {}

  /// Called before the first call and whenever the set of actions changes.
  virtual void begin_setup(const TuningSetup& /*setup*/) {}
  /// Chooses the action of the next call of `environment`.
  virtual void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) = 0;
  /// Reports the time of the call, us.
  virtual void learn(double /*time_us*/) {}

  [[nodiscard]] const TuningSetup& setup() const { return *setup_; }
  [[nodiscard]] const TuningActions& actions() const { return *setup_->actions; }

 private:
  std::string name_;
  const TuningSetup* setup_ = nullptr;
  /// Actions passed to begin_setup; kept alive so that no other set can have the same address.
  std::shared_ptr<const TuningActions> known_;
  std::size_t time_ = 0;
};

/// Casts to CollectiveTuningEnv. Throws UserError for any other environment.
[[nodiscard]] const CollectiveTuningEnv& tuning_environment(const Environment& environment,
                                                            std::string_view policy);

/// The legal action nearest to a configuration: first by program, then by protocol, then by
/// channels, then by all other knobs. Ties go to the first action.
[[nodiscard]] std::vector<std::int32_t> nearest_action(const TuningActions& actions,
                                                       CollectiveKind collective,
                                                       const PlainConfig& config);

/// Class of calls: a collective, and a power of two of the size.
struct TuningCell {
  CollectiveKind collective = CollectiveKind::AllReduce;
  int log2_bytes = 0;  ///< rounded down
  friend auto operator<=>(const TuningCell&, const TuningCell&) = default;
};
[[nodiscard]] TuningCell cell_of_call(const Call& call);

/// `count` sizes from 1 KiB to 1 GiB, inclusive, in equal ratios and ascending, each valid for the
/// collective on `ranks` ranks.
[[nodiscard]] std::vector<std::uint64_t> training_sizes(CollectiveKind collective, int ranks,
                                                        std::size_t count);

}  // namespace cclgym
