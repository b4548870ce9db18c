// Observations of a stream of calls from their times, simulated in the environment or measured in a
// job.
#pragma once

#include <span>

#include "env/tuning/tuning_observation.hpp"
#include "env/tuning/tuning_oracle.hpp"

namespace cclgym {

struct TuningSetup;

/// Feeds a TuningObservation call by call: begin() describes the call that is carried out, finish()
/// adds its time. Not thread-safe; does not allocate if the call has been seen before.
class CallObserver {
 public:
  /// All three must outlive this object.
  CallObserver(const TuningSetup& setup, CallTimer& timer, TuningOracle& oracle);

  [[nodiscard]] const TuningObservation& observation() const { return observation_; }
  /// TuningObservation::show.
  void show(const FeatureGroups& groups) { observation_.show(groups); }
  /// Forgets the recent calls.
  void start() { observation_.start(); }

  /// Sets done() to the call with an action. The default replaces an action that is not `legal`.
  /// Returns the simulated time without noise, which is what observations expect.
  TimedCall begin(const Call& call, std::span<const std::int32_t> action, bool legal = true);
  /// The call that was begun last; time_s is set by finish().
  [[nodiscard]] const ObservedCall& done() const { return done_; }
  /// Replaces the expected time of the call that was begun, s > 0, by one that was measured.
  void expect(double expected_s) { done_.expected_s = expected_s; }
  /// Ends the call that was begun. `time_s` > 0.
  void finish(double time_s);

  /// Writes the observation before a call: observation().size() numbers.
  void write(const WorkloadCall& next, std::span<float> out) const {
    observation_.write(next, out);
  }

 private:
  const TuningSetup& setup_;
  CallTimer& timer_;
  TuningOracle& oracle_;
  TuningObservation observation_;
  ObservedCall done_{};
};

}  // namespace cclgym
