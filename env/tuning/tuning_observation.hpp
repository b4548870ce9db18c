// What a tuner sees before it chooses: one record a feature.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/fabric_features.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

/// One number of the observation, for the documentation and for agents.
struct TuningFeature {
  std::string name;
  std::string unit;  ///< of the number itself, as scaled
  double low = 0;    ///< values are held within low and high
  double high = 1;
  std::string source;  ///< the paper that names it, with the section
};

/// What came of a call, as whoever made it can measure it.
struct ObservedCall {
  Call call;
  PlainConfig config;
  std::array<float, kKnobs> knobs{};  ///< level of each knob / (levels - 1); 0 of knobs not turned
  double time_s = 0;
  double expected_s = 0;  ///< what the same call takes without noise (the calibrated model)
};

/// Features of the machine, of the call at hand, of the recent calls, and a window of those.
/// Does not allocate after its construction.
class TuningObservation {
 public:
  static constexpr std::size_t kLoadWindow = 16;  ///< calls that say how the machine is doing

  /// `window`: recent calls that are described one by one; `knobs`: those of the actions.
  TuningObservation(const CallSite& site, const FabricFeatures& fabric,
                    const std::vector<Knob>& knobs, std::size_t window);

  [[nodiscard]] const std::vector<TuningFeature>& features() const { return features_; }
  [[nodiscard]] std::size_t size() const { return features_.size(); }

  /// Forgets the recent calls.
  void start();
  void observe(const ObservedCall& done);
  /// Writes size() numbers.
  void write(const WorkloadCall& next, std::span<float> out) const;

  /// Is the network shared, by what times vary? (Standard deviation of log(time / expected) over
  /// the last kLoadWindow calls above kSharedDeviation, on more than one server.)
  [[nodiscard]] bool shared_network() const { return shared_; }
  static constexpr double kSharedDeviation = 0.1;

 private:
  class Writer;
  void write_calls(const WorkloadCall& next, Writer& out) const;
  void write_fabric(Writer& out) const;
  void write_call(const WorkloadCall& next, Writer& out) const;
  void write_estimates(const Call& call, Writer& out) const;
  void write_load(const WorkloadCall& next, Writer& out) const;
  void write_window(Writer& out) const;
  void measure_load();
  [[nodiscard]] double utilisation(const ObservedCall& done) const;

  FabricFeatures fabric_;
  std::vector<Knob> knobs_;
  std::size_t window_;
  std::vector<std::vector<float>> nic_imbalance_;  ///< by binding, then channels - 1
  std::vector<std::uint8_t> reduces_in_steps_;     ///< by program
  std::vector<TuningFeature> features_;
  std::vector<float> fabric_values_;  ///< the first of the observation, always the same
  /// By PlanShape and Protocol: ln(alpha-beta time / the least); and log10 of the least, us.
  struct Estimates {
    CollectiveKind collective = CollectiveKind::AllReduce;
    std::uint64_t bytes = 0;
    std::array<double, 6> over_least{};
    double log10_least_us = 0;
  };
  [[nodiscard]] const Estimates& estimates(const Call& call) const;
  /// Jobs repeat their calls, and logarithms are dear: a table of fixed size.
  mutable std::array<Estimates, 64> estimates_{};
  double log2_ranks_ = 0;
  double log2_crossover_ = 0;

  struct Past {
    ObservedCall done;
    double log_ratio = 0;  ///< log(time / expected)
    double log2_bytes = 0;
    double utilisation = 0;
  };
  std::vector<Past> past_;  ///< a ring of max(window, kLoadWindow) calls
  std::size_t calls_ = 0;   ///< observed since start()
  /// Of calls of one collective and size (in powers of two): moving averages of log(time /
  /// expected) and of how far it is from that.
  struct SizeClass {
    float mean = 0;
    float deviation = 0;
    bool seen = false;
  };
  std::vector<SizeClass> classes_;
  double mean_log_ratio_ = 0;
  double deviation_ = 0;
  double mean_utilisation_ = 0;
  double worst_log_ratio_ = 0;
  bool shared_ = false;
};

}  // namespace cclgym
