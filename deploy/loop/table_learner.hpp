// Learns the best configuration of each class of calls from measured times, while the machine
// changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "deploy/trigger/change_detector.hpp"

namespace cclgym {

/// Mean of times (at least one), in which outliers count as twice the median: calls whose times
/// alternate count with their mean, and a call that waited for a lost packet hardly counts.
[[nodiscard]] double usual_time(std::span<const double> times);

struct LearnerOptions {
  /// Standard deviation of ln(time) of a configuration around what the prior says, relative to
  /// other configurations of the class. Between sweeps of one network in two states it was 0.16
  /// (one link slower) and 0.31 (cross traffic) among those within 50 % of the best
  /// (docs/closed-loop.md).
  double prior_deviation = 0.3;
  /// Standard deviation of ln(time) of equal calls, until it is learned.
  double noise = 0.08;
  /// Configurations are preferred by mean - optimism x deviation: those that are known badly are
  /// tried. Chosen, as `widest`, among a few values in a replay of sweeps (docs/closed-loop.md).
  double optimism = 1.5;
  /// Configurations whose prior is more than this above the best one's (in ln(time)) are not tried.
  double widest = 0.4;
  /// Calls after an alarm until it is decided whether the machine is in a known state.
  int recognition_calls = 8;
  TriggerParameters times{.sigma = 0.1, .drift = 1, .limit = 4, .threshold = 6};
  TriggerParameters bytes{.sigma = 0.1, .drift = 1, .limit = 4, .threshold = 6};
  bool frozen = false;  ///< true: the first table stays, for comparison
  std::optional<LearnedTriggerParameters>
      learned{};  ///< detects changes in place of the two others
};

/// A call as all ranks measured it.
struct LearnerCall {
  std::size_t group = 0;  ///< class of the call
  std::size_t config = 0;
  double time_s = 0;  ///< time of the slowest rank
  double bytes = 0;   ///< bytes that all nodes' interfaces received during the call; 0: not counted
};

/// Model: in a state s of the machine, ln(time) of class g with configuration c is normal around
/// m_s(g, c); the prior of m_s(g, c) is normal around p(g, c) + d_s(g), with prior_deviation, where
/// p is the prior (the state before, or ln of the given times) and d_s(g) is common to the class.
///
/// Two triggers (times, bytes), or a learned one, raise alarms. The calls after an alarm are
/// compared with what is known of earlier states; the likeliest becomes the present state, or a new
/// one if none fits. So a state that comes back needs no new exploration.
///
/// Deterministic: the same calls give the same tables.
class TableLearner {
 public:
  /// `prior_s`: times by class and configuration, s; infinite or NaN: unknown, never chosen. Throws
  /// std::invalid_argument if a class has no known time.
  explicit TableLearner(const std::vector<std::vector<double>>& prior_s,
                        const LearnerOptions& options = {});
  /// Adds a class that appears later, in all states of the machine; its number is that of the
  /// classes before. `prior_s`: as above, by configuration.
  void add_class(const std::vector<double>& prior_s);

  /// Configuration of each class.
  [[nodiscard]] const std::vector<std::uint16_t>& table() const { return table_; }
  /// Learns from a call. Returns true if the table has changed.
  bool observe(const LearnerCall& call);

  /// Number of alarms so far; present state, and number of states, from 0 on.
  [[nodiscard]] std::uint64_t alarms() const { return alarms_; }
  [[nodiscard]] std::size_t state() const { return state_; }
  [[nodiscard]] std::size_t states() const { return states_.size(); }

 private:
  struct Estimate {
    double prior = 0;              ///< prior mean of ln(time)
    double center = 0;             ///< ln of the last calls' usual_time()
    double count = 0;              ///< number of measured calls, at most kMostCount
    std::array<double, 9> last{};  ///< times of the last calls, by number modulo 9, s
    std::size_t calls = 0;
    double bytes = 0;  ///< mean of ln(bytes)
    double bytes_count = 0;
  };
  struct Belief {
    double mean = 0;
    double variance = 0;
  };
  using State = std::vector<std::vector<Estimate>>;  ///< by class and configuration

  [[nodiscard]] Belief belief(const State& state, std::size_t group, std::size_t config) const;
  [[nodiscard]] Belief class_shift(const State& state, std::size_t group) const;
  void learn(const LearnerCall& call);
  void recognise();
  [[nodiscard]] double log_likelihood(const State& state, double apart) const;
  [[nodiscard]] bool choose(std::size_t group);
  [[nodiscard]] State new_state(const State& like) const;

  LearnerOptions options_;
  ChangeDetector detector_;
  std::vector<State> states_;
  std::size_t state_ = 0;
  std::vector<double> noise_;  ///< variance of ln(time) of equal calls, by class
  std::vector<std::uint16_t> table_;
  std::size_t delay_ = 0;
  std::deque<LearnerCall> recent_{};     ///< the last calls, from which nothing is learned yet
  std::vector<LearnerCall> unassigned_;  ///< calls since an alarm, while the state is unknown
  bool recognising_ = false;
  std::uint64_t alarms_ = 0;
};

}  // namespace cclgym
