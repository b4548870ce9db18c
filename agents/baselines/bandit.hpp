// UCB1, and the policy that has a bandit for each cell.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"

namespace cclgym {

/// UCB1 (Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem",
/// Machine Learning 47, 2002) on costs whose range is not known beforehand: each arm once, then the
/// one of the greatest m + sqrt(2 ln t / n), where m is its mean cost on a scale from the greatest
/// mean of all arms (0) to the least (1). No random numbers: the first of equals.
class Ucb1 {
 public:
  explicit Ucb1(std::size_t arms) : arms_(arms) {}

  [[nodiscard]] std::size_t choose() const;
  void learn(std::size_t arm, double cost);
  /// The arm of the least mean cost so far; the first if there was none.
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

/// "bandit": a Ucb1 for each collective and power of two of the size, on the logarithm of the time.
/// What it learns lasts from episode to episode. Its arms are the legal actions that leave
/// instances, threads, chunk and NIC as NCCL has them: those of all knobs are thousands a cell,
/// each of which UCB1 tries once at least.
class BanditPolicy : public TuningPolicy {
 public:
  BanditPolicy() : TuningPolicy("bandit") {}

 protected:
  void begin_setup(const TuningSetup& setup) override;
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;
  void learn(double time_us) override;

 private:
  std::map<CollectiveKind, std::vector<std::size_t>> arms_;  ///< places in legal_actions
  std::map<TuningCell, Ucb1> cells_;
  Ucb1* cell_ = nullptr;
  std::size_t arm_ = 0;
};

}  // namespace cclgym
