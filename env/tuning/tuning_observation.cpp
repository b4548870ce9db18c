#include "env/tuning/tuning_observation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/library/algorithm_library.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

// SCCL: Cai et al. 2021; MSCCLang: Cowan et al. 2023; GC3: Cowan et al. 2022; PCCL: Singh et al.
// 2025; TE-CCL: Liu et al. 2024.
constexpr const char* kSccl = "SCCL";
constexpr const char* kGc3 = "GC3";
constexpr const char* kMsccl = "MSCCLang";
constexpr const char* kPccl = "PCCL";
constexpr const char* kTeccl = "TE-CCL";

constexpr std::size_t kSizeClasses = 40;  // powers of two up to a terabyte
constexpr double kMostLogRatio = 4;
constexpr double kMiB = 1024.0 * 1024.0;

// Gives the same bits on every platform, unlike the logarithm of the C library.
double log2_or_0(double value) { return value > 0 ? portable_log2(value) : 0; }
double log10_of(double value, double least) {
  constexpr double kLog10 = 2.30258509299404568402;
  return portable_log(std::max(value, least)) / kLog10;
}

std::size_t size_class(const Call& call) {
  const auto bit = static_cast<std::size_t>(std::bit_width(call.bytes | 1U) - 1);
  return static_cast<std::size_t>(call.collective) * kSizeClasses + std::min(bit, kSizeClasses - 1);
}

// Position of a size on SCCL's Pareto frontier, for the two machines of its figure 10: 0 where
// latency-optimal, 1 where bandwidth-optimal programs are on it, 1/2 between.
double sccl_pareto(const FabricFeatures& fabric, double bytes) {
  if (fabric.servers != 1 || fabric.ranks != 8 || fabric.server != ServerShape::Mesh) return 0;
  const bool dgx1 = fabric.diameter <= 2;
  const double small = (dgx1 ? 192 : 64) * 1024.0;
  const double large = (dgx1 ? 3 : 2) * kMiB;
  return bytes <= small ? 0 : (bytes < large ? 0.5 : 1);
}

}  // namespace

void ObservedCall::set_knobs(const TuningActions& actions, std::span<const std::int32_t> action) {
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Knob knob = actions.knobs()[i];
    const std::size_t last = actions.levels(knob).size() - 1;
    knobs[static_cast<std::size_t>(knob)] =
        last > 0 ? static_cast<float>(action[i]) / static_cast<float>(last) : 0.0F;
  }
}

// Describes features or writes their values; one list serves both.
class TuningObservation::Writer {
 public:
  explicit Writer(std::vector<TuningFeature>& features) : features_(&features) {}
  explicit Writer(std::span<float> out) : out_(out) {}

  void put(const char* name, const char* unit, double low, double high, const char* source,
           double value) {
    if (features_ != nullptr) {
      features_->push_back({prefix_ + name, unit, low, high, source});
    } else {
      out_[next_++] = static_cast<float>(std::clamp(value, low, high));
    }
  }
  void flag(const char* name, const char* source, bool value) {
    put(name, "0 or 1", 0, 1, source, value ? 1 : 0);
  }
  /// Sets the prefix of the names that follow; costs nothing while values are written.
  void prefix(const char* text, std::size_t number) {
    if (features_ != nullptr) prefix_ = text + std::to_string(number) + "_";
  }
  void no_prefix() { prefix_.clear(); }

 private:
  std::vector<TuningFeature>* features_ = nullptr;
  std::span<float> out_;
  std::size_t next_ = 0;
  std::string prefix_;
};

TuningObservation::TuningObservation(const CallSite& site, const FabricFeatures& fabric,
                                     const std::vector<Knob>& knobs, std::size_t window)
    : fabric_(fabric),
      knobs_(knobs),
      window_(window),
      past_(std::max(window, kLoadWindow)),
      classes_(kSizeClasses * 10) {
  constexpr int kMostChannels = 32;
  for (const auto& bound : site.fabrics) {
    std::vector<float>& of_binding = nic_imbalance_.emplace_back();
    for (int channels = 1; channels <= kMostChannels; ++channels) {
      of_binding.push_back(static_cast<float>(nic_imbalance(*bound, channels)));
    }
  }
  for (const AlgorithmEntry& entry : site.algorithms.entries()) {
    reduces_in_steps_.push_back(entry.adds_while_receiving ? 1 : 0);
  }
  Writer writer(features_);
  write_fabric(writer);
  fabric_values_.resize(features_.size());
  Writer values(fabric_values_);
  write_fabric(values);
  log2_ranks_ = log2_or_0(fabric_.ranks);
  log2_crossover_ = log2_or_0(fabric_.crossover_bytes);
  write_calls(WorkloadCall{.call = {.bytes = 1}, .context = {}}, writer);
}

void TuningObservation::start() {
  calls_ = 0;
  std::ranges::fill(classes_, SizeClass{});
  measure_load();
}

double TuningObservation::utilisation(const ObservedCall& done) const {
  if (done.time_s <= 0 || fabric_.rank_rate_Bps <= 0) return 0;
  const double bus_Bps = static_cast<double>(done.call.bytes) *
                         bus_bandwidth_factor(done.call.collective, fabric_.ranks) / done.time_s;
  return bus_Bps / fabric_.rank_rate_Bps;
}

void TuningObservation::observe(const ObservedCall& done) {
  Past& past = past_[calls_ % past_.size()];
  past.done = done;
  past.log_ratio =
      std::clamp(portable_log(done.time_s / done.expected_s), -kMostLogRatio, kMostLogRatio);
  past.log2_bytes = log2_or_0(static_cast<double>(done.call.bytes));
  past.utilisation = utilisation(done);
  ++calls_;
  // Moving averages cover about eight calls.
  constexpr float kNew = 0.125F;
  SizeClass& own = classes_[size_class(done.call)];
  const auto ratio = static_cast<float>(past.log_ratio);
  own.mean = own.seen ? own.mean + kNew * (ratio - own.mean) : ratio;
  own.deviation += kNew * (std::abs(ratio - own.mean) - own.deviation);
  own.seen = true;
  measure_load();
}

void TuningObservation::measure_load() {
  const std::size_t n = std::min(calls_, kLoadWindow);
  double sum = 0;
  double squares = 0;
  double utilised = 0;
  worst_log_ratio_ = n > 0 ? -kMostLogRatio : 0;
  for (std::size_t back = 1; back <= n; ++back) {
    const Past& past = past_[(calls_ - back) % past_.size()];
    sum += past.log_ratio;
    squares += past.log_ratio * past.log_ratio;
    utilised += past.utilisation;
    worst_log_ratio_ = std::max(worst_log_ratio_, past.log_ratio);
  }
  const double count = static_cast<double>(std::max<std::size_t>(n, 1));
  mean_log_ratio_ = sum / count;
  deviation_ = std::sqrt(std::max(0.0, squares / count - mean_log_ratio_ * mean_log_ratio_));
  mean_utilisation_ = utilised / count;
  shared_ = fabric_.servers > 1 && deviation_ > kSharedDeviation;
}

void TuningObservation::write(const WorkloadCall& next, std::span<float> out) const {
  std::ranges::copy(fabric_values_, out.begin());
  Writer writer(out.subspan(fabric_values_.size()));
  write_calls(next, writer);
}

void TuningObservation::write_calls(const WorkloadCall& next, Writer& out) const {
  write_call(next, out);
  write_load(next, out);
  write_window(out);
}

void TuningObservation::write_fabric(Writer& out) const {
  const FabricFeatures& f = fabric_;
  out.flag("server_flat", kGc3, f.server == ServerShape::Flat);
  out.flag("server_two_board", kGc3, f.server == ServerShape::TwoBoard);
  out.flag("server_mesh", kTeccl, f.server == ServerShape::Mesh);
  out.flag("intra_node_only", kMsccl, f.network == NetworkShape::None);
  out.flag("network_switched", kGc3, f.network == NetworkShape::Switched);
  out.flag("network_dragonfly", kPccl, f.network == NetworkShape::Dragonfly);
  out.put("ranks", "log2 / 12", 0, 1.5, kPccl, log2_or_0(f.ranks) / 12);
  out.put("nodes", "log2 / 12", 0, 1.5, kPccl, log2_or_0(f.servers) / 12);
  out.put("nics", "NICs per node / 8", 0, 4, kPccl, f.nics / 8.0);
  out.put("nics_per_pair", "NICs per two GPUs / 2", 0, 4, kGc3, f.nics_per_pair / 2);
  out.put("diameter", "steps / 8", 0, 8, kSccl, f.diameter / 8);
  out.put("inverse_bisection", "log10(us per MiB of chunk) / 4; 0: not computed", -2, 2, kSccl,
          f.inverse_bisection_s_per_B > 0
              ? log10_of(f.inverse_bisection_s_per_B * 1e6 * kMiB, 1e-3) / 4
              : 0);
  out.put("alpha", "log10(us)", -3, 3, kSccl, log10_of(f.alpha_s * 1e6, 1e-3));
  out.put("network_alpha", "log10(us); 0: one node", -3, 3, kSccl,
          f.network_alpha_s > 0 ? log10_of(f.network_alpha_s * 1e6, 1e-3) : 0);
  out.put("crossover_size", "log2(B) / 30", 0, 1.5, kSccl, log2_or_0(f.crossover_bytes) / 30);
  out.flag("sharp", kTeccl, f.sharp);
}

void TuningObservation::write_call(const WorkloadCall& next, Writer& out) const {
  const Call& call = next.call;
  const CallContext& context = next.context;
  const auto bytes = static_cast<double>(call.bytes);
  const CollectiveKind kind = call.collective;
  const double log2_bytes = log2_or_0(bytes);
  out.put("size", "log2(B) / 30", 0, 1.5, "all", log2_bytes / 30);
  out.put("size_of_rank", "log2(B / ranks) / 30", -1, 1.5, kPccl, (log2_bytes - log2_ranks_) / 30);
  out.put("size_over_crossover", "log2(size / crossover size) / 20", -2, 2, kSccl,
          (log2_bytes - log2_crossover_) / 20);
  out.flag("alpha_bound", kTeccl, bytes < 16 * 1024);
  out.flag("beta_bound", kTeccl, bytes >= kMiB);
  out.put("sccl_pareto", "0 latency-, 1 bandwidth-optimal; DGX-1, Z52", 0, 1, kSccl,
          sccl_pareto(fabric_, bytes));
  out.flag("allreduce", "all", kind == CollectiveKind::AllReduce);
  out.flag("allgather", "all", kind == CollectiveKind::AllGather);
  out.flag("reducescatter", "all", kind == CollectiveKind::ReduceScatter);
  out.flag("broadcast", "SCCL", kind == CollectiveKind::Broadcast);
  out.flag("reduce", "SCCL", kind == CollectiveKind::Reduce);
  out.flag("alltoall", kSccl, kind == CollectiveKind::AllToAll);
  out.flag("alltonext", kGc3, kind == CollectiveKind::AllToNext);
  out.flag("combining", kSccl, is_reduction(kind));
  out.put("compute", "log10(us of compute since the previous call) / 6", 0, 1.5, "SCCL",
          log10_of(context.compute_s * 1e6, 1) / 6);
  out.put("intensity", "log10(FLOP per byte) / 6; 0: no model", 0, 2, kTeccl,
          log10_of(context.intensity, 1) / 6);
  out.put("pipe_ops", "log2(numPipeOps) / 5", 0, 2, kTeccl, log2_or_0(context.pipe_ops) / 5);
  out.put("local_batch", "log2(samples) / 16; 0: no model", 0, 2, kTeccl,
          log2_or_0(context.local_batch) / 16);
  out.flag("overlaps_compute", kGc3, context.overlaps);
  out.flag("pipeline_parallel", kGc3, context.pipeline);
  write_estimates(call, out);
}

const TuningObservation::Estimates& TuningObservation::estimates(const Call& call) const {
  const std::uint64_t mixed =
      (call.bytes + static_cast<std::uint64_t>(call.collective)) * kGoldenRatio;
  Estimates& own = estimates_[mixed >> 58U];
  static_assert(std::tuple_size_v<decltype(estimates_)> == 64);
  if (own.bytes == call.bytes && own.collective == call.collective) return own;
  own.collective = call.collective;
  own.bytes = call.bytes;
  std::size_t i = 0;
  for (const PlanShape shape : {PlanShape::Ring, PlanShape::Tree}) {
    for (const Protocol protocol : all_protocols()) {
      own.over_least[i++] =
          portable_log(std::max(alpha_beta_time_s(fabric_, call.collective,
                                                  static_cast<double>(call.bytes), shape, protocol),
                                1e-12));
    }
  }
  const double least = *std::ranges::min_element(own.over_least);
  for (double& value : own.over_least) value -= least;
  constexpr double kLog10 = 2.30258509299404568402;
  own.log10_least_us = least / kLog10 + 6;
  return own;
}

void TuningObservation::write_estimates(const Call& call, Writer& out) const {
  static constexpr const char* kNames[] = {"ring_ll", "ring_ll128", "ring_simple",
                                           "tree_ll", "tree_ll128", "tree_simple"};
  const Estimates& known = estimates(call);
  for (std::size_t i = 0; i < known.over_least.size(); ++i) {
    out.put(kNames[i], "ln(alpha-beta time / min of the six)", 0, 4, kSccl, known.over_least[i]);
  }
  out.put("least_time", "log10(min of the six, us) / 4", -1, 2, kSccl, known.log10_least_us / 4);
}

void TuningObservation::write_load(const WorkloadCall& next, Writer& out) const {
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
    const PlainConfig& last = past_[(calls_ - 1) % past_.size()].done.config;
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

void TuningObservation::write_window(Writer& out) const {
  static constexpr const char* kKnobNames[] = {"algorithm", "inter",   "protocol", "channels",
                                               "instances", "threads", "chunk",    "nic"};
  for (std::size_t back = 1; back <= window_; ++back) {
    out.prefix("back", back);
    const bool there = back <= calls_;
    const Past none;
    const Past& past = there ? past_[(calls_ - back) % past_.size()] : none;
    out.flag("there", kTeccl, there);
    out.put("size", "log2(B) / 30", 0, 1.5, kTeccl, past.log2_bytes / 30);
    out.put("collective", "index of the collective / 9", 0, 1, kTeccl,
            static_cast<double>(past.done.call.collective) / 9);
    for (const Knob knob : knobs_) {
      const auto i = static_cast<std::size_t>(knob);
      out.put(kKnobNames[i], "level / (levels - 1)", 0, 1, kGc3,
              static_cast<double>(past.done.knobs[i]));
    }
    out.put("log_ratio", "ln(time / expected)", -4, 4, kTeccl, past.log_ratio);
  }
  out.no_prefix();
}

}  // namespace cclgym
