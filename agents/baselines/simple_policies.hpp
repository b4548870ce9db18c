// Baselines that learn nothing: tuners, chance, the oracle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"
#include "core/random.hpp"

namespace cclgym {

/// "nccl-default:2.8.4", "dispatch:FILE": leaves every call to a tuner, which must be among the
/// environment's (with_tuners). Where it does not choose for a collective, or not on this fabric:
/// TuningActions::reference, as near as the actions come to it.
class TunerPolicy : public TuningPolicy {
 public:
  explicit TunerPolicy(const std::string& tuner) : TuningPolicy(tuner) {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  std::vector<std::int32_t> action_;  ///< the tuner's
};

/// "random": each dimension uniform among its legal levels, given the ones before.
class RandomPolicy : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "random"; }
  void begin_episode(const Environment& environment, std::uint64_t seed) override;
  void act(std::span<const float> observation, std::span<const std::uint8_t> action_mask,
           const Environment& environment, std::span<std::int32_t> action) override;

 private:
  Random random_{0};
  std::vector<std::uint8_t> scratch_;
};

/// "oracle": the best action of the call in the regime and moment that the machine is in, by trying
/// all: clairvoyant. What no call can know before (the measurement's noise) multiplies all alike.
class OraclePolicy : public TuningPolicy {
 public:
  OraclePolicy() : TuningPolicy("oracle") {}
  [[nodiscard]] bool reads_hidden() const override { return true; }

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  std::unique_ptr<CallTimer> timer_;
  std::unique_ptr<TuningOracle> oracle_;
};

/// The same environment with more tuners as actions; those that are there already are not added.
/// Nothing else changes: the same calls, regimes and times for the same seed. Throws UserError on
/// an unknown tuner.
[[nodiscard]] std::shared_ptr<const TuningSetup> with_tuners(
    const std::shared_ptr<const TuningSetup>& setup, const std::vector<std::string>& tuners);

}  // namespace cclgym
