// Tables of a recurrent policy from the measured calls of a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "calibration/loop/loop_policy.hpp"
#include "deploy/loop/table_learner.hpp"
#include "deploy/trigger/regime_trigger.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// A configuration of a class of calls.
struct ChooserConfig {
  std::vector<std::int32_t> action;  ///< the policy's; empty: no action names the configuration
  double expected_s = 0;             ///< measured when the machine was idle; 0: simulated instead
  bool allowed = true;               ///< false: the policy does not choose it
};

/// A class of the loop's calls; the classes take turns in their order.
struct ChooserClass {
  Call call;
  std::vector<ChooserConfig> configs;
};

struct ChooserOptions {
  TriggerParameters times = LearnerOptions{}.times;
  TriggerParameters bytes = LearnerOptions{}.bytes;
};

/// Feeds the policy the observation that the environment would make of the same calls
/// (CallObserver), with the measured times; the LSTM advances by the observation before each call.
/// As RetuningPolicy does, the policy decides until kCallsToSettle calls after the start or an
/// alarm, and keeps its table then. Since a table applies to later calls, each decision is for all
/// classes, as if each were the next call.
///
/// Deterministic: the same calls give the same tables.
class PolicyChooser {
 public:
  /// Calls after an alarm at which the policy decides: after so many, the observation's averages
  /// contain no call from before the alarm.
  static constexpr std::uint64_t kCallsToSettle = TuningObservation::kLoadWindow;

  /// Every class has a configuration that is allowed and has an action, and the actions of a class
  /// differ. The first table is chosen without measurements: after two rounds of the classes whose
  /// times are as expected. These are then forgotten.
  PolicyChooser(const std::shared_ptr<const LoopPolicy>& policy, std::vector<ChooserClass> classes,
                const ChooserOptions& options = {});

  /// Configuration of each class.
  [[nodiscard]] const std::vector<std::uint16_t>& table() const { return table_; }
  /// Number of decisions for a table.
  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }
  /// Takes a measured call. Returns true if it raised an alarm. Calls of unknown classes,
  /// configurations or times are ignored.
  bool observe(const LearnerCall& call);

  /// Writes the observation before the next call.
  void write(std::span<float> out) const;
  [[nodiscard]] std::size_t observation_size() const { return observer_.observation().size(); }

 private:
  void start();
  [[nodiscard]] WorkloadCall class_call(std::size_t group) const;
  void feed(const LearnerCall& call);
  [[nodiscard]] bool detect(const LearnerCall& call);
  void decide();
  [[nodiscard]] std::uint16_t decide_class(std::size_t group);

  std::shared_ptr<const LoopPolicy> policy_;
  std::vector<ChooserClass> classes_;
  CallTimer timer_;
  TuningOracle oracle_;
  CallObserver observer_;
  RegimeTrigger times_;
  RegimeTrigger bytes_;
  std::vector<unsigned char> state_;  ///< state of the LSTM before the observation of the next call
  std::vector<unsigned char> trial_;  ///< a copy, for a class that may not be the next
  std::vector<float> observation_;
  std::vector<std::int32_t> action_;
  std::vector<std::uint16_t> table_;
  std::size_t next_ = 0;  ///< class of the next call
  std::uint64_t calls_ = 0;
  std::uint64_t settled_at_ = kCallsToSettle;
  std::uint64_t decisions_ = 0;
};

}  // namespace cclgym
