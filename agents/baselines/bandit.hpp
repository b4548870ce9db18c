// UCB1, and the policy that runs one bandit per cell.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"

namespace cclgym {

/// UCB1 (Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem",
/// Machine Learning 47, 2002) for costs of unknown range. It pulls each arm once, then the arm with
/// the maximum of m + sqrt(2 ln t / n), where m is the arm's mean cost on a scale from the maximum
/// mean of all arms (0) to the minimum (1). Deterministic: ties go to the first arm.
class Ucb1 {
 public:
  explicit Ucb1(std::size_t arms) : arms_(arms) {}

  [[nodiscard]] std::size_t choose() const;
  void learn(std::size_t arm, double cost);
  /// Arm with the minimum mean cost so far; the first arm before any pull.
  [[nodiscard]] std::size_t best() const;
  [[nodiscard]] std::size_t pulls(std::size_t arm) const { return arms_[arm].pulls; }

 private:
  struct Arm {
    std::size_t pulls = 0;
    double mean = 0;
  };
  std::vector<Arm> arms_;
  std::size_t total_ = 0;
};

/// "bandit": one Ucb1 per collective and power of two of the size, on the logarithm of the time. It
/// keeps what it has learned across episodes. Its arms are the legal actions with NCCL's instances,
/// threads, chunk and NIC: with all knobs there would be thousands of arms per cell, and UCB1 tries
/// every arm at least once.
class BanditPolicy : public TuningPolicy {
 public:
  BanditPolicy() : TuningPolicy("bandit") {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;
  void learn(double time_us) override;

 private:
  std::map<CollectiveKind, std::vector<std::size_t>> arms_;  ///< positions in legal_actions
  std::map<TuningCell, Ucb1> cells_;
  Ucb1* cell_ = nullptr;
  std::size_t arm_ = 0;
};

}  // namespace cclgym
