// The trigger agent: detects from the times of calls that the machine has changed, so that tuning
// again is worthwhile.
//
// For every kind of call (collective, power of two of its size, configuration) it keeps the mean of
// x = ln(time / expected) since the last alarm, and sums the deviations of new calls from it,
// upwards and downwards (Page's CUSUM, 1954):
//
// * z = (x - mean) / (sigma sqrt(1 + 1 / n)), clipped to +-limit; n: calls in the mean
// * up = max(0, up + z - drift), down = max(0, down - z - drift)
// * alarm if up or down > threshold; means and sums are then forgotten
//
// A single late call adds at most limit - drift, so a lone outlier raises no alarm if threshold is
// larger. sigma, drift, limit and threshold are learned from streams with known regimes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/policy.hpp"
#include "agents/training/training_environment.hpp"

namespace cclgym {

struct TriggerParameters {
  double sigma = 0.02;
  double drift = 1;
  double limit = 4;
  double threshold = 6;

  friend bool operator==(const TriggerParameters&, const TriggerParameters&) = default;
};

/// A call as its caller can measure it.
struct TriggerInput {
  std::uint64_t kind = 0;  ///< calls of equal kind take the same time unless the machine changes
  double log_ratio = 0;    ///< ln(time / expected)
};
/// Input for a call with an action of CollectiveTuning-v0.
[[nodiscard]] TriggerInput trigger_input(const Call& call, std::span<const std::int32_t> action,
                                         double time_us, double expected_us);

/// Detector with the given parameters. Does not allocate after construction.
class RegimeTrigger {
 public:
  explicit RegimeTrigger(const TriggerParameters& parameters);

  /// Forgets all calls, for a new stream or new configurations.
  void start();
  /// Feeds a call. Returns true if the machine has changed; means and sums are then forgotten.
  bool observe(const TriggerInput& call);

 private:
  /// Mean of a kind; kept in a table of fixed size, in which colliding kinds replace each other.
  struct Mean {
    std::uint64_t kind = 0;
    std::uint32_t count = 0;
    double mean = 0;
  };
  static constexpr std::size_t kMeans = 4096;

  TriggerParameters parameters_;
  std::vector<Mean> means_;
  double up_ = 0;
  double down_ = 0;
};

/// Calls with information that only a simulator has.
struct TriggerStream {
  std::vector<TriggerInput> calls;
  /// Regime of each call; regimes in which all of these calls take equally long share a number.
  std::vector<std::uint32_t> regimes;
  std::size_t silent_changes = 0;  ///< changes between such regimes
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
  std::size_t silent_changes = 0;  ///< changes of the regime that no call shows; not in `changes`
  std::size_t found = 0;           ///< changes with an alarm before the next change
  std::size_t false_alarms = 0;    ///< alarms beyond the first after a change
  double median_delay = 0;  ///< calls from a change to its alarm, 1: at once; of all changes,
                            ///< those not found as infinitely many

  [[nodiscard]] double false_alarms_per_1000() const {
    return calls > 0 ? 1000.0 * static_cast<double>(false_alarms) / static_cast<double>(calls) : 0;
  }
};
[[nodiscard]] TriggerMeasure measure_trigger(const TriggerParameters& parameters,
                                             std::span<const TriggerStream> streams);

/// The parameters that find most changes soonest with fewer than `false_alarms_per_1000`: sigma is
/// fitted to the spread of calls within regimes, the others by grid search. Deterministic.
[[nodiscard]] TriggerParameters train_trigger(std::span<const TriggerStream> streams,
                                              double false_alarms_per_1000);

/// A trigger and the environment in which it was trained.
struct TriggerOf {
  std::string fabric;  ///< TuningSetup::fabric_label
  std::string noise;   ///< name of the regimes
  TriggerParameters parameters;
};

/// A trigger with its results on the training streams and on held-out ones.
struct TrainedTrigger {
  TriggerOf trigger;
  TriggerMeasure trained;
  TriggerMeasure held_out;
};
/// Trains a trigger for calls that `weights` configure in `where`.
[[nodiscard]] TrainedTrigger train_trigger(const TrainingEnvironment& where,
                                           const PolicyWeights& weights, std::size_t streams,
                                           std::size_t calls, double false_alarms_per_1000,
                                           std::uint64_t seed);

}  // namespace cclgym
