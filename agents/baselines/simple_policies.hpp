// Baselines that do not learn: tuners, random choice, the oracle.
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

/// "nccl-default:2.8.4", "dispatch:FILE": leaves every call to a tuner, which must be one of the
/// environment's (with_tuners). If the tuner has no choice for a collective or fabric, the policy
/// takes the action nearest to TuningActions::reference.
class TunerPolicy : public TuningPolicy {
 public:
  explicit TunerPolicy(const std::string& tuner) : TuningPolicy(tuner) {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  std::vector<std::int32_t> action_;  ///< action of the tuner
};

/// The choices of the environment's first tuner, spelled out in the knobs if some legal action has
/// the same configuration; otherwise the tuner's own action, or the action nearest to
/// TuningActions::reference.
class FirstTunerPolicy : public TuningPolicy {
 public:
  FirstTunerPolicy() : TuningPolicy("tuner") {}

 protected:
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;
};

/// "formula": the synthesised schedule with the least S alpha + (R / C) L beta, in as many copies
/// as fit on the GPUs, with TE-CCL's protocol: LL below 16 KiB, LL128 below 1 MiB, then Simple. It
/// simulates nothing. For a collective without synthesised programs, it takes the action nearest to
/// TuningActions::reference. Throws UserError in an environment without synthesised programs.
class FormulaPolicy : public TuningPolicy {
 public:
  FormulaPolicy() : TuningPolicy("formula") {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  [[nodiscard]] bool runs(CollectiveKind collective, std::uint16_t program,
                          Protocol protocol) const;
};

/// "estimate": the action with the least estimated time (ActionPrior::advice), without a simulation
/// of its time. If nothing can be estimated for a collective (all actions are synthesised
/// programs), the action nearest to TuningActions::reference. Throws UserError on a machine with
/// more than ActionPrior::kMostRanks ranks.
class EstimatePolicy : public TuningPolicy {
 public:
  EstimatePolicy() : TuningPolicy("estimate") {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;
};

/// "random": draws each dimension uniformly from its legal levels, given the earlier dimensions.
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

/// "oracle": the best action in the machine's current regime and moment, found by trying all
/// actions. It is clairvoyant except for measurement noise, which cannot be known in advance and
/// multiplies the times of all actions equally.
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

/// The same environment with more tuners as actions; existing ones are not added again. Nothing
/// else changes: the same seed gives the same calls, regimes and times. Throws UserError for an
/// unknown tuner.
[[nodiscard]] std::shared_ptr<const TuningSetup> with_tuners(
    const std::shared_ptr<const TuningSetup>& setup, const std::vector<std::string>& tuners);

}  // namespace cclgym
