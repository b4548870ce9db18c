#include "env/tuning/tuning_observation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/library/algorithm_library.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "env/tuning/estimates/action_prior.hpp"
#include "env/tuning/observation_writer.hpp"
#include "sim/noise/noise_random.hpp"

namespace cclgym {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

double log10_of(double value, double least) {
  constexpr double kLog10 = 2.30258509299404568402;
  return portable_log(std::max(value, least)) / kLog10;
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

const std::vector<std::string>& feature_group_names() {
  static const std::vector<std::string> names{"size", "machine", "recent", "counters"};
  return names;
}

void ObservedCall::set_knobs(const TuningActions& actions, std::span<const std::int32_t> action) {
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Knob knob = actions.knobs()[i];
    const std::size_t last = actions.levels(knob).size() - 1;
    knobs[static_cast<std::size_t>(knob)] =
        last > 0 ? static_cast<float>(action[i]) / static_cast<float>(last) : 0.0F;
  }
}

TuningObservation::TuningObservation(const CallSite& site, const FabricFeatures& fabric,
                                     std::shared_ptr<const TuningActions> actions,
                                     const ObservationOptions& options)
    : fabric_(fabric),
      actions_(std::move(actions)),
      options_(options),
      classes_(kCallClasses),
      backends_(actions_->options().tuners.size() + 1) {
  if (options_.counters) backend_times_.resize(classes_.size() * backends_);
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
  Describer describer(features_);
  write_fabric(describer);
  fabric_values_.resize(features_.size());
  write_fabric_values();
  log2_ranks_ = log2_or_0(fabric_.ranks);
  log2_crossover_ = log2_or_0(fabric_.crossover_bytes);
  if (options_.action_features) {
    for (Estimates& one : estimates_) one.log_schedule_s.resize(kMaxSchedules, 0);
  }
  if (options_.prior) {
    const std::size_t programs =
        actions_->levels(Knob::Algorithm).size() - actions_->options().tuners.size();
    std::size_t levels = 0;
    for (const Knob knob : actions_->knobs()) levels += actions_->levels(knob).size();
    for (Estimates& one : estimates_) {
      one.log_action_s.resize(3 * programs + 1, kNoSchedule);
      one.advised.resize(levels, 0);
    }
  }
  write_calls(WorkloadCall{.call = {.bytes = 1}, .context = {}}, describer);
  std::vector<TuningFeature> of_past;
  Describer past(of_past);
  write_past(ObservedCall{}, 0, past);
  past_size_ = of_past.size();
  window_.resize(options_.window * past_size_);
}

void TuningObservation::write_fabric_values() {
  Writer values(fabric_values_, options_.groups);
  write_fabric(values);
}

void TuningObservation::show(const FeatureGroups& groups) {
  options_.groups = groups;
  write_fabric_values();
}

void TuningObservation::start() {
  calls_ = 0;
  std::ranges::fill(classes_, SizeClass{});
  std::ranges::fill(backend_times_, BackendTime{});
  measure_load();
}

void TuningObservation::write(const WorkloadCall& next, std::span<float> out) const {
  std::ranges::copy(fabric_values_, out.begin());
  Writer writer(out.subspan(fabric_values_.size()), options_.groups);
  write_calls(next, writer);
}

template <class Out>
void TuningObservation::write_calls(const WorkloadCall& next, Out& out) const {
  write_call(next, out);
  write_recent(next, out);
}

template <class Out>
void TuningObservation::write_fabric(Out& out) const {
  const FabricFeatures& f = fabric_;
  out.group(FeatureGroup::Machine);
  out.flag("server_flat", kGc3, f.server == ServerShape::Flat);
  out.flag("server_two_board", kGc3, f.server == ServerShape::TwoBoard);
  out.flag("server_mesh", kTeccl, f.server == ServerShape::Mesh);
  out.flag("intra_node_only", kMsccl, f.network == NetworkShape::None);
  out.flag("network_switched", kGc3, f.network == NetworkShape::Switched);
  out.flag("network_dragonfly", kPccl, f.network == NetworkShape::Dragonfly);
  out.group(FeatureGroup::Size);
  out.put("ranks", "log2 / 12", 0, 1.5, kPccl, log2_or_0(f.ranks) / 12);
  out.put("nodes", "log2 / 12", 0, 1.5, kPccl, log2_or_0(f.servers) / 12);
  out.group(FeatureGroup::Machine);
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

template <class Out>
void TuningObservation::write_call(const WorkloadCall& next, Out& out) const {
  const Call& call = next.call;
  const CallContext& context = next.context;
  const auto bytes = static_cast<double>(call.bytes);
  const CollectiveKind kind = call.collective;
  const double log2_bytes = estimates(call).log2_bytes;
  out.group(FeatureGroup::Size);
  out.put("size", "log2(B) / 30", 0, 1.5, "all", log2_bytes / 30);
  out.put("size_of_rank", "log2(B / ranks) / 30", -1, 1.5, kPccl, (log2_bytes - log2_ranks_) / 30);
  out.group(FeatureGroup::Machine);
  out.put("size_over_crossover", "log2(size / crossover size) / 20", -2, 2, kSccl,
          (log2_bytes - log2_crossover_) / 20);
  out.flag("alpha_bound", kTeccl, bytes < 16 * 1024);
  out.flag("beta_bound", kTeccl, bytes >= kMiB);
  if (actions_->options().synth.empty()) {
    out.put("sccl_pareto", "0 latency-, 1 bandwidth-optimal; DGX-1, Z52", 0, 1, kSccl,
            sccl_pareto(fabric_, bytes));
  } else {
    out.put("sccl_pareto", "position of the best schedule on the synthesised front", 0, 1, kSccl,
            front_position(call));
  }
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
  if (options_.action_features) write_schedules(call, out);
  if (options_.prior) write_actions(call, out);
}

// Position of the schedule with the least alpha-beta time on the front of the collective: 0 for the
// fewest steps, 1 for the fewest rounds per chunk. Without a front of several points, it is 0.
double TuningObservation::front_position(const Call& call) const {
  const CollectiveFront* front = actions_->front(call.collective);
  if (front == nullptr || front->points.size() < 2) return 0;
  const std::size_t best = front->best(static_cast<double>(call.bytes), prior_alpha_s(fabric_));
  return static_cast<double>(best) / static_cast<double>(front->points.size() - 1);
}

TuningObservation::Estimates& TuningObservation::place_of(const Call& call) const {
  const std::uint64_t mixed =
      (call.bytes + static_cast<std::uint64_t>(call.collective)) * kGoldenRatio;
  static_assert(std::tuple_size_v<decltype(estimates_)> == 64);
  return estimates_[mixed >> 58U];
}

// Does not make estimates that nobody asked for.
double TuningObservation::log2_bytes(const Call& call) const {
  const Estimates& own = place_of(call);
  const bool known = own.bytes == call.bytes && own.collective == call.collective;
  return known ? own.log2_bytes : log2_or_0(static_cast<double>(call.bytes));
}

const TuningObservation::Estimates& TuningObservation::estimates(const Call& call) const {
  Estimates& own = place_of(call);
  if (own.bytes == call.bytes && own.collective == call.collective) return own;
  own.collective = call.collective;
  own.bytes = call.bytes;
  own.log2_bytes = log2_or_0(static_cast<double>(call.bytes));
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
  if (options_.action_features) {
    std::size_t level = 0;
    for (const SynthActions& item : actions_->options().synth) {
      const CollectiveFront* front = item.front(call.collective);
      for (std::size_t k = 0; k < SynthActions::kLevels; ++k) {
        const bool there = front != nullptr && k < front->points.size();
        own.log_schedule_s[level++] =
            there ? portable_log(front->points[k].time_s(static_cast<double>(call.bytes),
                                                         prior_alpha_s(fabric_)))
                  : kNoSchedule;
      }
    }
    for (double& value : own.log_schedule_s) value -= least;
  }
  if (options_.prior) estimate_actions(call, own);
  constexpr double kLog10 = 2.30258509299404568402;
  own.log10_least_us = least / kLog10 + 6;
  return own;
}

void TuningObservation::estimate_actions(const Call& call, Estimates& own) const {
  options_.prior->estimates(call, own.log_action_s);
  double least = kNoSchedule;
  for (double& value : own.log_action_s) {
    value = value > 0 ? portable_log(value) : kNoSchedule;
    least = std::min(least, value);
  }
  for (double& value : own.log_action_s) {
    if (value < kNoSchedule) value -= least;
  }
  std::ranges::fill(own.advised, 0);
  std::size_t first = 0;
  const std::span<const std::int32_t> advised = options_.prior->advice(call);
  for (std::size_t knob = 0; knob < advised.size(); ++knob) {
    own.advised[first + static_cast<std::size_t>(advised[knob])] = 1;
    first += actions_->levels(actions_->knobs()[knob]).size();
  }
}

double TuningObservation::least_estimate_s(const Call& call) const {
  constexpr double kLog10 = 2.30258509299404568402;
  return portable_exp((estimates(call).log10_least_us - 6) * kLog10);
}

template <class Out>
void TuningObservation::write_estimates(const Call& call, Out& out) const {
  static constexpr const char* kNames[] = {"ring_ll", "ring_ll128", "ring_simple",
                                           "tree_ll", "tree_ll128", "tree_simple"};
  const Estimates& known = estimates(call);
  for (std::size_t i = 0; i < known.over_least.size(); ++i) {
    out.put(kNames[i], "ln(alpha-beta time / min of the six)", 0, 4, kSccl, known.over_least[i]);
  }
  out.put("least_time", "log10(min of the six, us) / 4", -1, 2, kSccl, known.log10_least_us / 4);
}

template <class Out>
void TuningObservation::write_actions(const Call& call, Out& out) const {
  const std::vector<std::string>& levels = actions_->levels(Knob::Algorithm);
  const Estimates& known = estimates(call);
  std::size_t i = 0;
  const auto put = [&](const char* name) {
    out.put(name, "ln(estimated time / min of these); 4: no such action", 0, 4, kSccl,
            known.log_action_s[i++]);
  };
  for (std::size_t level = actions_->options().tuners.size(); level < levels.size(); ++level) {
    out.prefix("estimate", levels[level]);
    put("ll");
    put("ll128");
    put("simple");
  }
  out.no_prefix();
  put("estimate_default");
  std::size_t number = 0;
  for (const Knob knob : actions_->knobs()) {
    out.prefix("advised", to_string(knob));
    for (const std::string& level : actions_->levels(knob)) {
      out.flag(level.c_str(), kSccl, known.advised[number++] != 0);
    }
  }
  out.no_prefix();
}

template <class Out>
void TuningObservation::write_schedules(const Call& call, Out& out) const {
  const Estimates& known = estimates(call);
  std::size_t level = 0;
  for (const SynthActions& item : actions_->options().synth) {
    const CollectiveFront* front = item.front(call.collective);
    double least_rounds = 1;
    if (front != nullptr) {
      least_rounds =
          std::ranges::min(front->points, {}, &FrontSchedule::rounds_per_chunk).rounds_per_chunk;
    }
    for (std::size_t k = 0; k < SynthActions::kLevels; ++k) {
      out.prefix(item, k + 1);
      const bool there = front != nullptr && k < front->points.size();
      const FrontSchedule* point = there ? &front->points[k] : nullptr;
      out.put("chunks", "log2(1 + C) / 8; 0: no such schedule", 0, 2, kSccl,
              there ? portable_log2(1.0 + point->chunks) / 8 : 0);
      out.put("steps", "log2(1 + S) / 4; 0: no such schedule", 0, 2, kSccl,
              there ? portable_log2(1.0 + point->steps) / 4 : 0);
      out.put("rounds", "ln(R / C over the min of the front)", 0, 4, kSccl,
              there ? portable_log(point->rounds_per_chunk / least_rounds) : 0);
      out.put("time", "ln(S alpha + (R / C) L beta over the min of the six estimates)", -4, 4,
              kSccl, known.log_schedule_s[level++]);
    }
  }
  out.no_prefix();
}

}  // namespace cclgym
