// The learned trigger: a small LSTM that detects from times, tails and counters of calls that the
// machine has changed. docs/agents.md, "The learned trigger", has its equations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "deploy/trigger/trigger_features.hpp"

namespace cclgym {

struct LearnedTriggerParameters {
  double sigma = 0.02;        ///< spread that is assumed at first
  std::size_t units = 8;      ///< units of the LSTM, 1 to kMaxTriggerUnits
  double threshold = 0;       ///< logit above which a call counts
  std::uint32_t confirm = 1;  ///< successive calls above the threshold that raise an alarm
  std::uint32_t pause = 0;    ///< calls after an alarm without another one
  /// By unit-major gate i, f, g, o: rows [4 units x (features + units + 1)] of weights for inputs,
  /// state and 1; then the output's [units + 1].
  std::vector<double> weights{};

  friend bool operator==(const LearnedTriggerParameters&,
                         const LearnedTriggerParameters&) = default;
};

inline constexpr std::size_t kMaxTriggerUnits = 64;
/// Number of weights.
[[nodiscard]] std::size_t learned_trigger_weights(std::size_t units);
/// Reason why the parameters cannot run; empty if they can.
[[nodiscard]] std::string learned_trigger_fault(const LearnedTriggerParameters& parameters);

/// 1 / (1 + exp(-x)) with the same bits on every machine.
[[nodiscard]] double trigger_sigmoid(double x);

/// A step of the LSTM: gates [4 units] are its activations i, f, g, o; `hidden` and `cell` [units]
/// are the state, which changes. Returns the logit that the machine has changed.
[[nodiscard]] double learned_trigger_step(std::span<const double> weights,
                                          const TriggerFeatureRow& inputs, std::span<double> gates,
                                          std::span<double> hidden, std::span<double> cell);

/// Detector with the given parameters. Does not allocate after construction. Deterministic.
class LearnedTrigger {
 public:
  /// Throws std::invalid_argument if learned_trigger_fault finds a fault.
  explicit LearnedTrigger(const LearnedTriggerParameters& parameters);

  /// Forgets all calls, for a new stream or new configurations.
  void start();
  /// Feeds a call. Returns true if the machine has changed; means and state are then forgotten.
  bool observe(const TriggerInput& call);
  /// Logit of the last call.
  [[nodiscard]] double logit() const { return logit_; }

 private:
  void forget();

  LearnedTriggerParameters parameters_;
  TriggerFeatures features_;
  std::vector<double> gates_;
  std::vector<double> hidden_;
  std::vector<double> cell_;
  double logit_ = 0;
  std::uint32_t above_ = 0;  ///< successive calls above the threshold
  std::uint32_t pause_ = 0;  ///< calls that are left of the pause
};

}  // namespace cclgym
