// The trigger agent: detects from the times of calls that the machine has changed, so that tuning
// again is worthwhile. docs/agents.md, "The Trigger agent", has the equations and their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/policy.hpp"
#include "agents/training/training_environment.hpp"
#include "deploy/trigger/change_detector.hpp"

namespace cclgym {

/// Input for a call with an action of CollectiveTuning-v0.
[[nodiscard]] TriggerInput trigger_input(const Call& call, std::span<const std::int32_t> action,
                                         double time_us, double expected_us);

/// Calls with information that only a simulator has.
struct TriggerStream {
  std::vector<TriggerInput> calls;
  /// Regime of each call; regimes in which all of these calls take the same time share a number.
  std::vector<std::uint32_t> regimes;
  std::size_t silent_changes = 0;  ///< number of changes between such regimes
};

/// Two regimes are equal for a stream if the times of all of its calls differ by at most this
/// fraction, apart from jitter, e.g. if an unused network loses a fifth of its capacity.
inline constexpr double kSilentShare = 0.05;

/// Plays `calls` calls of an environment of CollectiveTuning-v0 as one stream.
[[nodiscard]] TriggerStream record_stream(const TrainingEnvironment& where, Policy& policy,
                                          std::size_t calls, std::uint64_t seed);

/// Agreement of alarms with changes of the regime.
struct TriggerMeasure {
  std::size_t calls = 0;
  std::size_t changes = 0;
  std::size_t silent_changes = 0;  ///< changes that no call shows; excluded from `changes`
  std::size_t found = 0;           ///< changes with an alarm before the next change
  std::size_t false_alarms = 0;    ///< alarms after the first alarm since a change
  double median_delay = 0;  ///< median of the calls from a change to its alarm (1: at once), which
                            ///< are infinitely many if there is no alarm
  double p90_delay = 0;     ///< 90th percentile of these

  [[nodiscard]] double false_alarms_per_1000() const {
    return calls > 0 ? 1000.0 * static_cast<double>(false_alarms) / static_cast<double>(calls) : 0;
  }
};
[[nodiscard]] TriggerMeasure measure_detector(ChangeDetector detector,
                                              std::span<const TriggerStream> streams);
[[nodiscard]] TriggerMeasure measure_trigger(const TriggerParameters& parameters,
                                             std::span<const TriggerStream> streams);

/// Spread of ln(time / expected) of calls around the median of their kind and regime, at least
/// 0.001: 1.4826 times the median absolute deviation, which is sigma for normal numbers.
[[nodiscard]] double spread_within_regimes(std::span<const TriggerStream> streams);

/// Parameters with which most changes are found soonest, with fewer than `false_alarms_per_1000`.
/// Sigma is fitted to the spread of calls within regimes, the others by grid search. Deterministic.
[[nodiscard]] TriggerParameters train_trigger(std::span<const TriggerStream> streams,
                                              double false_alarms_per_1000);

/// A trigger together with the environment in which it was trained.
struct TriggerOf {
  std::string fabric;  ///< TuningSetup::fabric_label
  std::string noise;   ///< name of the regimes
  TriggerParameters parameters;
  std::optional<LearnedTriggerParameters> learned{};  ///< if given, `parameters` are not used

  [[nodiscard]] ChangeDetector detector() const {
    return learned ? ChangeDetector(*learned) : ChangeDetector(parameters);
  }
};

/// A trigger with its results on training streams and on held-out streams.
struct TrainedTrigger {
  TriggerOf trigger;
  TriggerMeasure trained;
  TriggerMeasure held_out;
};

}  // namespace cclgym
