// The part of the observation that describes recent calls.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "core/random.hpp"
#include "env/tuning/observation_writer.hpp"
#include "env/tuning/tuning_observation.hpp"

namespace cclgym {

double TuningObservation::utilisation(const ObservedCall& done) const {
  if (done.time_s <= 0 || fabric_.rank_rate_Bps <= 0) return 0;
  const double bus_Bps = static_cast<double>(done.call.bytes) *
                         bus_bandwidth_factor(done.call.collective, fabric_.ranks) / done.time_s;
  return bus_Bps / fabric_.rank_rate_Bps;
}

void TuningObservation::observe(const ObservedCall& done) {
  const double log_ratio =
      std::clamp(portable_log(done.time_s / done.expected_s), -kMostLogRatio, kMostLogRatio);
  log_ratio_[calls_ % kLoadWindow] = log_ratio;
  utilisation_[calls_ % kLoadWindow] = utilisation(done);
  last_config_ = done.config;
  last_nics_ = done.nics;
  if (options_.window > 0) {
    const std::span<float> window(window_);
    Writer writer(window.subspan(calls_ % options_.window * past_size_, past_size_), kAllFeatures);
    write_past(done, log_ratio, writer);
  }
  ++calls_;
  // Moving averages cover about eight calls.
  constexpr float kNew = 0.125F;
  SizeClass& own = classes_[size_class(done.call)];
  const auto ratio = static_cast<float>(log_ratio);
  own.mean = own.seen ? own.mean + kNew * (ratio - own.mean) : ratio;
  own.deviation += kNew * (std::abs(ratio - own.mean) - own.deviation);
  own.seen = true;
  if (!backend_times_.empty()) {
    const double least_s = least_estimate_s(done.call);
    backend_times_[size_class(done.call) * backends_ + done.backend] = {
        static_cast<float>(portable_log(done.time_s / least_s)), calls_};
  }
  measure_load();
}

void TuningObservation::measure_load() {
  const std::size_t n = std::min(calls_, kLoadWindow);
  double sum = 0;
  double squares = 0;
  double utilised = 0;
  worst_log_ratio_ = n > 0 ? -kMostLogRatio : 0;
  for (std::size_t back = 1; back <= n; ++back) {
    const std::size_t call = (calls_ - back) % kLoadWindow;
    const double log_ratio = log_ratio_[call];
    sum += log_ratio;
    squares += log_ratio * log_ratio;
    utilised += utilisation_[call];
    worst_log_ratio_ = std::max(worst_log_ratio_, log_ratio);
  }
  const double count = static_cast<double>(std::max<std::size_t>(n, 1));
  mean_log_ratio_ = sum / count;
  deviation_ = std::sqrt(std::max(0.0, squares / count - mean_log_ratio_ * mean_log_ratio_));
  mean_utilisation_ = utilised / count;
  shared_ = fabric_.servers > 1 && deviation_ > kSharedDeviation;
}

template <class Out>
void TuningObservation::write_load(const WorkloadCall& next, Out& out) const {
  // GC3's fourth fingerprint: a network shared with other tenants shows in the variation of times.
  out.flag("network_shared", kGc3, shared_);
  out.put("mean_log_ratio", "mean of ln(time / expected), 16 calls", -4, 4, "SCCL",
          mean_log_ratio_);
  out.put("deviation", "standard deviation of ln(time / expected), 16 calls", 0, 4, kGc3,
          deviation_);
  out.put("worst_log_ratio", "max of ln(time / expected), 16 calls", -4, 4, kTeccl,
          worst_log_ratio_);
  out.put("link_utilisation", "bus bandwidth / a GPU's links, mean of 16 calls", 0, 2, kGc3,
          mean_utilisation_);
  double imbalance = 1;
  bool reduces = false;
  if (calls_ > 0) {
    const PlainConfig& last = last_config_;
    const std::vector<float>& bound = nic_imbalance_[last.binding];
    imbalance = bound[std::min<std::size_t>(last.channels, bound.size()) - 1];
    reduces = reduces_in_steps_[last.program] != 0;
  }
  out.put("nic_imbalance", "(busiest NIC / even share - 1) / 4, last call", 0, 4, "PCCL",
          (imbalance - 1) / 4);
  out.flag("compute_in_reduce", kMsccl, reduces);
  const SizeClass& own = classes_[size_class(next.call)];
  out.put("class_log_ratio", "moving mean of ln(time / expected), calls of this kind and size", -4,
          4, "SCCL", own.mean);
  out.put("class_deviation", "moving deviation from class_log_ratio", 0, 4, "SCCL", own.deviation);
}

// Latency of each backend in calls of this kind and size, relative to the best of them.
template <class Out>
void TuningObservation::write_backends(const Call& call, Out& out) const {
  constexpr double kHalfLife = 64;  // calls after which a time counts half
  const auto times = std::span(backend_times_).subspan(size_class(call) * backends_, backends_);
  double least = 1e9;
  for (const BackendTime& one : times) {
    if (one.call > 0) least = std::min(least, static_cast<double>(one.log_time));
  }
  for (std::size_t i = 0; i < backends_; ++i) {
    out.prefix("backend", i + 1);
    const bool seen = times[i].call > 0;
    out.put("over_best", "ln(last time / best of the backends), calls of this kind and size", 0, 4,
            kPccl, seen ? static_cast<double>(times[i].log_time) - least : 0);
    out.put("recent", "64 / (64 + calls since then); 0: never", 0, 1, kPccl,
            seen ? kHalfLife / (kHalfLife + static_cast<double>(calls_ - times[i].call)) : 0);
  }
  out.no_prefix();
}

template <class Out>
void TuningObservation::write_nics(Out& out) const {
  out.group(FeatureGroup::Counters);
  static const NicShares none;
  const NicShares* last = calls_ > 0 ? last_nics_ : nullptr;
  const NicShares& shares = last != nullptr ? *last : none;
  for (std::size_t nic = 0; nic < kCountedNics; ++nic) {
    out.prefix("nic", nic + 1);
    out.put("sent", "share of the bytes that the first node sent, last call", 0, 1, kPccl,
            static_cast<double>(shares.sent[nic]));
    out.put("received", "share of the bytes that the first node received, last call", 0, 1, kPccl,
            static_cast<double>(shares.received[nic]));
  }
  out.no_prefix();
  out.put("nic_variance", "variance of NIC share / even share, / 8, last call", 0, 1, kPccl,
          shares.variance / 8);
}

// A call of the window.
template <class Out>
void TuningObservation::write_past(const ObservedCall& done, double log_ratio, Out& out) const {
  static const auto knob_names = [] {
    std::array<std::string, kKnobs> names;
    for (std::size_t i = 0; i < kKnobs; ++i) names[i] = to_string(static_cast<Knob>(i));
    return names;
  }();
  out.flag("there", kTeccl, true);
  out.put("size", "log2(B) / 30", 0, 1.5, kTeccl, log2_bytes(done.call) / 30);
  out.put("collective", "index of the collective / 9", 0, 1, kTeccl,
          static_cast<double>(done.call.collective) / 9);
  for (const Knob knob : actions_->knobs()) {
    const auto i = static_cast<std::size_t>(knob);
    out.put(knob_names[i].c_str(), "level / (levels - 1)", 0, 1, kGc3,
            static_cast<double>(done.knobs[i]));
  }
  out.put("log_ratio", "ln(time / expected)", -4, 4, kTeccl, log_ratio);
}

void TuningObservation::write_window(Describer& out) const {
  for (std::size_t back = 1; back <= options_.window; ++back) {
    out.prefix("back", back);
    write_past(ObservedCall{}, 0, out);
  }
  out.no_prefix();
}

// All features of a call that was not made are 0.
void TuningObservation::write_window(Writer& out) const {
  static constexpr std::array<float, 4 + kKnobs> kNone{};
  for (std::size_t back = 1; back <= options_.window; ++back) {
    if (back > calls_) {
      out.copy(std::span(kNone).first(past_size_));
      continue;
    }
    const std::size_t call = (calls_ - back) % options_.window;
    out.copy(std::span(window_).subspan(call * past_size_, past_size_));
  }
}

template <class Out>
void TuningObservation::write_recent(const WorkloadCall& next, Out& out) const {
  out.group(FeatureGroup::Recent);
  write_load(next, out);
  if (options_.counters) write_backends(next.call, out);
  write_window(out);
  if (options_.counters) write_nics(out);
}

template void TuningObservation::write_recent(const WorkloadCall&, Describer&) const;
template void TuningObservation::write_recent(const WorkloadCall&, Writer&) const;
template void TuningObservation::write_past(const ObservedCall&, double, Describer&) const;

}  // namespace cclgym
