// The trigger agent: says from the times of the calls when the machine has changed, so that it is
// worth tuning anew.
//
// For every kind of call (collective, power of two of its size, configuration) it remembers the
// mean of x = ln(time / expected) since the last alarm, and sums up how far new calls are from
// that, up and down (Page's CUSUM, 1954):
//
//   z = (x - mean) / (sigma sqrt(1 + 1 / n)),  clipped to +-limit      n: calls in the mean
//   up = max(0, up + z - drift),  down = max(0, down - z - drift)
//   alarm where up or down > threshold; then means and sums are forgotten
//
// A single late call adds at most limit - drift, so that an outlier alone is no alarm if threshold
// is larger. sigma, drift, limit and threshold are learned from streams whose regimes are known.
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

/// A call as whoever made it can measure it.
struct TriggerInput {
  std::uint64_t kind = 0;  ///< calls of equal kinds take the same time where nothing changes
  double log_ratio = 0;    ///< ln(time / expected)
};
/// A call of this collective and size, with an action as CollectiveTuning-v0 has it.
[[nodiscard]] TriggerInput trigger_input(const Call& call, std::span<const std::int32_t> action,
                                         double time_us, double expected_us);

/// Does not allocate after its construction.
class RegimeTrigger {
 public:
  explicit RegimeTrigger(const TriggerParameters& parameters);

  /// A new stream, or a new configuration of everything: forgets all calls.
  void start();
  /// Takes in a call. True: the machine has changed; means and sums are then forgotten.
  bool observe(const TriggerInput& call);

 private:
  /// Of kinds; a table of fixed size, in which colliding kinds push each other out.
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

/// Calls with what only a simulator knows.
struct TriggerStream {
  std::vector<TriggerInput> calls;
  /// Of each call; one number for regimes that take all of these calls equally long.
  std::vector<std::uint32_t> regimes;
  std::size_t silent_changes = 0;  ///< of the regime, between such regimes
};

/// Two regimes are alike to a stream if none of its calls takes longer in one than in the other by
/// more than this share, jitter aside: a network may lose a fifth of what nobody uses.
inline constexpr double kSilentShare = 0.05;

/// Plays `calls` calls of an environment of CollectiveTuning-v0 as one stream.
[[nodiscard]] TriggerStream record_stream(const TrainingEnvironment& where, Policy& policy,
                                          std::size_t calls, std::uint64_t seed);

/// How well alarms meet changes of the regime.
struct TriggerMeasure {
  std::size_t calls = 0;
  std::size_t changes = 0;
  std::size_t silent_changes = 0;  ///< of the regime, which no call shows: not among `changes`
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

/// The parameters that find most changes soonest with fewer than `false_alarms_per_1000`: sigma
/// from how calls spread within regimes, the others by trying a grid. Deterministic.
[[nodiscard]] TriggerParameters train_trigger(std::span<const TriggerStream> streams,
                                              double false_alarms_per_1000);

/// A trigger and what it was trained in.
struct TriggerOf {
  std::string fabric;  ///< as TuningSetup::fabric_label
  std::string noise;   ///< name of the regimes
  TriggerParameters parameters;
};

/// A trigger with how well it did on the streams that it was trained on, and on others.
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
