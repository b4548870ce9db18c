// The observation of a tuner: one record per feature.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/estimates/fabric_features.hpp"
#include "env/tuning/feature_group.hpp"
#include "env/tuning/nic_counters.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

class ActionPrior;

/// One number of the observation, for the documentation and for agents.
struct TuningFeature {
  std::string name;
  std::string unit;  ///< unit of the number after scaling
  double low = 0;    ///< values are clamped to low .. high
  double high = 1;
  std::string source;  ///< paper and section that name the feature
  FeatureGroup group = FeatureGroup::Size;
};

/// Result of a call, as its caller can measure it.
struct ObservedCall {
  Call call;
  PlainConfig config;
  std::array<float, kKnobs> knobs{};  ///< level of each knob / (levels - 1); 0 for unused knobs
  double time_s = 0;
  double expected_s = 0;            ///< time of the same call without noise (the calibrated model)
  std::size_t backend = 0;          ///< number of the tuner; the number of tuners: none of them
  const NicShares* nics = nullptr;  ///< null: not counted

  /// Sets `knobs` to the levels of an action, scaled from 0 (the first level) to 1 (the last one).
  void set_knobs(const TuningActions& actions, std::span<const std::int32_t> action);
};

struct ObservationOptions {
  std::size_t window = 0;        ///< number of recent calls described one by one
  bool action_features = false;  ///< true if synthesised schedules among the actions are described
  std::shared_ptr<ActionPrior> prior{};  ///< null: no estimates of actions
  bool counters = false;                 ///< true if there are features of backends and of NICs
  FeatureGroups groups = kAllFeatures;
};

/// Features of the machine, of the current call and of recent calls, and a window of single recent
/// calls. Does not allocate after construction.
class TuningObservation {
 public:
  static constexpr std::size_t kLoadWindow =
      16;  ///< number of calls that describe the machine's load

  TuningObservation(const CallSite& site, const FabricFeatures& fabric,
                    std::shared_ptr<const TuningActions> actions,
                    const ObservationOptions& options);

  [[nodiscard]] const std::vector<TuningFeature>& features() const { return features_; }
  [[nodiscard]] std::size_t size() const { return features_.size(); }

  /// Switches groups of features on or off.
  void show(const FeatureGroups& groups);
  /// Forgets the recent calls.
  void start();
  void observe(const ObservedCall& done);
  /// Writes size() numbers.
  void write(const WorkloadCall& next, std::span<float> out) const;

  /// True if the variation of times shows a shared network: on more than one node, the standard
  /// deviation of log(time / expected) over the last kLoadWindow calls exceeds kSharedDeviation.
  [[nodiscard]] bool shared_network() const { return shared_; }
  static constexpr double kSharedDeviation = 0.1;

 private:
  class Describer;
  class Writer;
  template <class Out>
  void write_calls(const WorkloadCall& next, Out& out) const;
  void write_fabric_values();
  template <class Out>
  void write_fabric(Out& out) const;
  template <class Out>
  void write_call(const WorkloadCall& next, Out& out) const;
  template <class Out>
  void write_estimates(const Call& call, Out& out) const;
  template <class Out>
  void write_schedules(const Call& call, Out& out) const;
  template <class Out>
  void write_actions(const Call& call, Out& out) const;
  [[nodiscard]] double front_position(const Call& call) const;
  // The parts about recent calls are in tuning_observation_recent.cpp.
  template <class Out>
  void write_load(const WorkloadCall& next, Out& out) const;
  template <class Out>
  void write_backends(const Call& call, Out& out) const;
  template <class Out>
  void write_nics(Out& out) const;
  template <class Out>
  void write_recent(const WorkloadCall& next, Out& out) const;
  template <class Out>
  void write_past(const ObservedCall& done, double log_ratio, Out& out) const;
  void write_window(Describer& out) const;
  void write_window(Writer& out) const;
  void measure_load();
  [[nodiscard]] double utilisation(const ObservedCall& done) const;

  FabricFeatures fabric_;
  std::shared_ptr<const TuningActions> actions_;
  ObservationOptions options_;
  std::vector<std::vector<float>> nic_imbalance_;  ///< by binding, then channels - 1
  std::vector<std::uint8_t> reduces_in_steps_;     ///< by program
  std::vector<TuningFeature> features_;
  std::vector<float> fabric_values_;  ///< constant first part of the observation
  static constexpr std::size_t kMaxSchedules = 3 * SynthActions::kLevels;  // three kinds
  /// ln(alpha-beta time / minimum) by PlanShape and Protocol, and log10 of the minimum, us.
  struct Estimates {
    CollectiveKind collective = CollectiveKind::AllReduce;
    std::uint64_t bytes = 0;
    std::array<double, 6> over_least{};
    double log10_least_us = 0;
    double log2_bytes = 0;
    /// ln(S alpha + (R / C) L beta, s) of the schedules, by level; kNoSchedule if there is none.
    /// Empty without features of actions.
    std::vector<double> log_schedule_s{};
    /// ln(ActionPrior::estimates / minimum); kNoSchedule if there is none. Empty without a prior.
    std::vector<double> log_action_s{};
    std::vector<std::uint8_t> advised{};  ///< by level of each knob in turn: 1 if it is advised
  };
  static constexpr double kNoSchedule = 1e9;
  [[nodiscard]] Estimates& place_of(const Call& call) const;
  [[nodiscard]] const Estimates& estimates(const Call& call) const;
  [[nodiscard]] double log2_bytes(const Call& call) const;
  void estimate_actions(const Call& call, Estimates& own) const;
  /// Min of the six alpha-beta times of a call, s.
  [[nodiscard]] double least_estimate_s(const Call& call) const;
  /// Jobs repeat their calls, and logarithms are expensive, so estimates are cached in a table of
  /// fixed size.
  mutable std::array<Estimates, 64> estimates_{};
  double log2_ranks_ = 0;
  double log2_crossover_ = 0;

  // Recent calls: only what is read of them, since each step reads it for all of them. Call c is at
  // c modulo the number of calls that a buffer holds.
  PlainConfig last_config_{};                      ///< configuration of the last call
  const NicShares* last_nics_ = nullptr;           ///< counters of the last call
  std::array<double, kLoadWindow> log_ratio_{};    ///< ln(time / expected)
  std::array<double, kLoadWindow> utilisation_{};  ///< bus bandwidth / a GPU's links
  std::size_t past_size_ = 0;                      ///< features of a call of the window
  std::vector<float> window_;                      ///< their values, [options.window x past_size_]
  std::size_t calls_ = 0;                          ///< number of calls observed since start()
  /// Moving averages over the calls of one collective and size (in powers of two): the average of
  /// log(time / expected), and that of the deviation from it.
  struct SizeClass {
    float mean = 0;
    float deviation = 0;
    bool seen = false;
  };
  std::vector<SizeClass> classes_;
  /// Last call of a backend in a class: ln(time / estimate of the call's minimum), and its number,
  /// counted from 1; 0: there was none.
  struct BackendTime {
    float log_time = 0;
    std::size_t call = 0;
  };
  std::size_t backends_ = 0;                ///< the tuners, and the programs of the actions
  std::vector<BackendTime> backend_times_;  ///< by class, then by backend; empty without counters
  double mean_log_ratio_ = 0;
  double deviation_ = 0;
  double mean_utilisation_ = 0;
  double worst_log_ratio_ = 0;
  bool shared_ = false;
};

}  // namespace cclgym
