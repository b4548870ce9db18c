// Any of the detectors of changes.
#pragma once

#include <variant>

#include "deploy/trigger/learned_trigger.hpp"
#include "deploy/trigger/regime_trigger.hpp"

namespace cclgym {

/// Two triggers, one of times and one of counted bytes; an alarm of either one counts, and both
/// then forget.
class PairedTriggers {
 public:
  PairedTriggers(const TriggerParameters& times, const TriggerParameters& bytes)
      : times_(times), bytes_(bytes) {}

  void start();
  bool observe(const TriggerInput& call);

 private:
  RegimeTrigger times_;
  RegimeTrigger bytes_;
};

/// One of the detectors. None allocates after construction.
class ChangeDetector {
 public:
  explicit ChangeDetector(const TriggerParameters& times) : one_(RegimeTrigger(times)) {}
  ChangeDetector(const TriggerParameters& times, const TriggerParameters& bytes)
      : one_(PairedTriggers(times, bytes)) {}
  /// Throws std::invalid_argument if learned_trigger_fault finds a fault.
  explicit ChangeDetector(const LearnedTriggerParameters& learned)
      : one_(LearnedTrigger(learned)) {}

  /// Forgets all calls, for a new stream or new configurations.
  void start();
  /// Feeds a call. Returns true if the machine has changed.
  bool observe(const TriggerInput& call);

 private:
  std::variant<RegimeTrigger, PairedTriggers, LearnedTrigger> one_;
};

}  // namespace cclgym
