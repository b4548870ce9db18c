// Inputs of the learned trigger: what a call shows in comparison with the calls before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "deploy/trigger/regime_trigger.hpp"

namespace cclgym {

/// Inputs of a call, in order, each within about +-2:
///   0  deviation of ln(time / expected) from the mean of its kind, in sigmas, halved
///   1  the same of ln(bytes); 0 if they were not counted
///   2  tail: the largest deviation of the last calls of the class beyond the class's p99
///   3  ln(1 + number of calls since the last alarm), scaled
///   4  ln(1 + number of earlier calls of the kind since then), scaled
///   5  1 if there is none
inline constexpr std::size_t kTriggerFeatures = 6;
using TriggerFeatureRow = std::array<double, kTriggerFeatures>;

/// Keeps means by kind, and spread and p99 by class, in tables of fixed size in which colliding
/// keys replace each other. The spread is learned from the calls themselves, so that a detector can
/// be used on a machine with another jitter. Does not allocate after construction. Deterministic,
/// with the same bits on every machine.
class TriggerFeatures {
 public:
  /// `sigma`: spread of ln(time) and ln(bytes) that is assumed at first.
  explicit TriggerFeatures(double sigma);

  /// Forgets everything, for a new stream.
  void start();
  /// Forgets means and the last calls, after an alarm; keeps spreads and p99.
  void forget();
  /// Inputs of a call, which is then learned.
  [[nodiscard]] TriggerFeatureRow observe(const TriggerInput& call);

 private:
  /// Mean of a quantity of a kind.
  struct Mean {
    double count = 0;
    double mean = 0;
  };
  struct Kind {
    std::uint64_t kind = 0;
    std::uint32_t epoch = 0;  ///< means of an earlier epoch are forgotten
    Mean time{};
    Mean bytes{};
  };
  /// Logarithm of a spread: the common one, and what a class adds to it.
  struct Spread {
    double log_sigma = 0;
    double calls = 0;
  };
  struct Group {
    std::uint64_t group = 0;
    bool known = false;
    Spread time{};
    Spread bytes{};
    double p99 = 0;  ///< 99th percentile of deviations, in sigmas
    std::uint32_t epoch = 0;
    std::uint32_t calls = 0;  ///< in this epoch
    static constexpr std::size_t kLast = 8;
    std::array<double, kLast> last{};  ///< deviations of the last calls, by number modulo kLast
  };
  static constexpr std::size_t kKinds = 4096;
  static constexpr std::size_t kGroups = 512;

  [[nodiscard]] static double deviation(Mean& mean, double value, Spread& common, Spread& own,
                                        double least_sigma);

  double sigma_;
  std::vector<Kind> kinds_;
  std::vector<Group> groups_;
  Spread time_{};
  Spread bytes_{};
  std::uint32_t epoch_ = 1;
  double calls_ = 0;  ///< in this epoch
};

}  // namespace cclgym
