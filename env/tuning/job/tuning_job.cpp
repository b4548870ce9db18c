#include "env/tuning/job/tuning_job.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/hash.hpp"
#include "workloads/timing/job_breakdown.hpp"

namespace cclgym {

namespace {

// Node of each member, numbered in the order in which the members mention them.
std::vector<int> node_pattern(const ProcessGroup& group, const Fabric& fabric) {
  std::vector<int> pattern;
  std::map<int, int> numbers;
  for (const std::int32_t rank : group.ranks) {
    const auto number = static_cast<int>(numbers.size());
    pattern.push_back(numbers.try_emplace(fabric.server_of(rank), number).first->second);
  }
  return pattern;
}

// Errors of the layers below have no location, or one in a file of the job.
template <class Body>
auto located(const SourceLocation& where, Body&& body) {
  try {
    return body();
  } catch (const UserError& error) {
    const std::string place = where.to_string();
    if (std::string_view(error.what()).starts_with(place) || place.empty()) throw;
    throw UserError(where, error.what());
  }
}

// Computing time of a rank up to a date.
class ComputingTime {
 public:
  void add(double start_s, double end_s) { spans_.emplace_back(start_s, end_s); }
  void finish() {
    std::sort(spans_.begin(), spans_.end());
    double until_s = 0;
    double sum_s = 0;
    for (auto& [start_s, end_s] : spans_) {  // disjoint spans, with the time before each
      start_s = std::max(start_s, until_s);
      end_s = until_s = std::max(end_s, start_s);
      before_s_.push_back(sum_s);
      sum_s += end_s - start_s;
    }
  }
  [[nodiscard]] double until(double date_s) const {
    const auto after =
        std::upper_bound(spans_.begin(), spans_.end(), date_s,
                         [](double date, const auto& span) { return date < span.first; });
    if (after == spans_.begin()) return 0;
    const auto index = static_cast<std::size_t>(after - spans_.begin()) - 1;
    return before_s_[index] + std::min(date_s, spans_[index].second) - spans_[index].first;
  }

 private:
  std::vector<std::pair<double, double>> spans_;
  std::vector<double> before_s_;
};

}  // namespace

std::size_t TuningJob::ChoicesHash::operator()(const std::vector<PlainConfig>& choices) const {
  std::uint64_t hash = 0x6a6f625f73746570U;
  for (const PlainConfig& one : choices) {
    hash = mix_hash(hash, static_cast<std::uint64_t>(one.program) |
                              static_cast<std::uint64_t>(one.channels) << 16U |
                              static_cast<std::uint64_t>(one.instances) << 32U |
                              static_cast<std::uint64_t>(one.threads) << 48U);
    hash = mix_hash(hash, one.tile_bytes);
    hash = mix_hash(hash, static_cast<std::uint64_t>(one.binding) |
                              static_cast<std::uint64_t>(one.protocol) << 8U |
                              static_cast<std::uint64_t>(one.slots) << 16U);
  }
  return static_cast<std::size_t>(hash);
}

TuningJob::TuningJob(WorkloadJob workload, std::shared_ptr<const Fabric> fabric,
                     const CostModel& model)
    : workload_(std::move(workload)), fabric_(std::move(fabric)), model_(model) {
  if (workload_.job.ranks > fabric_->ranks()) {
    throw UserError(workload_.where, fmt::format("job {} has {} ranks, but fabric '{}' has {} GPUs",
                                                 quoted(workload_.job.name), workload_.job.ranks,
                                                 fabric_->name(), fabric_->ranks()));
  }
  check_groups();
  find_calls();
}

// A configuration has to fit all groups, so they must be spread over nodes in the same pattern.
void TuningJob::check_groups() const {
  const ProcessGroup* first = nullptr;
  for (const ProcessGroup& group : workload_.job.groups) {
    if (group.communicator != workload_.communicator) continue;
    if (first == nullptr) first = &group;
    if (node_pattern(group, *fabric_) == node_pattern(*first, *fabric_)) continue;
    const auto text = [&](const ProcessGroup& one) {
      const std::vector<int> nodes = node_pattern(one, *fabric_);
      return fmt::format("{} ranks on {} nodes", nodes.size(),
                         *std::max_element(nodes.begin(), nodes.end()) + 1);
    };
    throw UserError(
        workload_.where,
        fmt::format("groups of communicator {} are spread over nodes differently: found {} (ranks "
                    "{}, …) and {} (ranks {}, …); expected the same pattern, so that a "
                    "configuration fits all of them",
                    quoted(workload_.communicator_name()), text(*first), first->ranks.front(),
                    text(group), group.ranks.front()));
  }
}

void TuningJob::find_calls() {
  const JobGraph& job = workload_.job;
  std::vector<bool> seen(job.programs.size(), false);
  for (const ProcessGroup& group : job.groups) {
    if (group.communicator != workload_.communicator || group.ranks.size() < 2) continue;
    if (!machine_) {
      const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
      const bool all = static_cast<int>(ranks.size()) == fabric_->ranks() &&
                       std::is_sorted(ranks.begin(), ranks.end());
      machine_ = all ? fabric_ : fabric_->with_ranks(ranks);
    }
    const std::int32_t rank = group.ranks.front();
    const auto program = at(job.program_of[at(rank)]);
    if (seen[program]) continue;
    seen[program] = true;
    members_.push_back(rank);
    for (const std::int32_t index : execution_order(job, job.program(rank))) {
      const JobOp& op = job.program(rank).ops[at(index)];
      if (op.kind != JobOpKind::Collective) continue;
      if (job.group(rank, op).communicator != workload_.communicator) continue;
      const std::uint64_t bytes =
          fitting_bytes(op.collective, op.bytes, static_cast<int>(group.ranks.size()));
      auto found = std::ranges::find_if(calls_, [&](const WorkloadCall& known) {
        return known.call.collective == op.collective && known.call.bytes == bytes;
      });
      if (found == calls_.end()) {
        WorkloadCall call;
        call.call = {.collective = op.collective, .bytes = bytes, .root = op.root};
        found = calls_.insert(calls_.end(), call);
        named_.emplace_back();
      }
      std::vector<NamedCall>& names = named_[static_cast<std::size_t>(found - calls_.begin())];
      const NamedCall name{workload_.communicator_name(), op.collective, op.bytes};
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  if (calls_.empty()) throw std::logic_error("TuningJob: a communicator without calls");
  calls_.back().context.ends_step = true;
}

std::shared_ptr<TuningJob> TuningJob::on(std::shared_ptr<const CallSite> site) const {
  auto other = std::make_shared<TuningJob>(workload_, fabric_, model_);
  other->calls_ = calls_;
  other->site_ = std::move(site);
  other->defaults_ = defaults_;
  other->default_step_ = default_step_;
  return other;
}

void TuningJob::set_defaults(std::shared_ptr<const CallSite> site,
                             std::vector<PlainConfig> defaults) {
  if (defaults.size() != calls_.size()) throw std::logic_error("TuningJob: one default per call");
  site_ = std::move(site);
  defaults_ = std::move(defaults);
  located(workload_.where, [&] {
    std::unique_ptr<JobSimulator> simulator = take();
    const JobRecord record = simulate(*simulator, defaults_);
    default_step_ = {record.step_time_s, break_down(workload_.job, record).mean.exposed_s};
    find_contexts(record);
    steps_[defaults_] = default_step_;
    idle_.push_back(std::move(simulator));
    return 0;
  });
}

std::unique_ptr<JobSimulator> TuningJob::take() const {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<JobSimulator> simulator = std::move(idle_.back());
      idle_.pop_back();
      return simulator;
    }
  }
  auto simulator = std::make_unique<JobSimulator>(
      workload_.job, fabric_, model_, JobSettings{.detail = JobDetail::Calls, .fold = true});
  for (const ProcessGroup& group : workload_.job.groups) {
    if (group.communicator != workload_.communicator || group.ranks.size() < 2) continue;
    simulator->views().of(group.ranks).simulator->add_algorithms(site_->algorithms);
  }
  return simulator;
}

JobRecord TuningJob::simulate(JobSimulator& simulator,
                              const std::vector<PlainConfig>& choices) const {
  JobTuners tuners;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Config config = full_config(site_->algorithms, choices[i]);
    for (const NamedCall& name : named_[i]) tuners.calls[name] = config;
  }
  return simulator.run(tuners);
}

JobStep TuningJob::step(const std::vector<PlainConfig>& choices) const {
  if (choices.size() != calls_.size()) throw std::logic_error("TuningJob: one choice per call");
  {
    const std::scoped_lock lock(mutex_);
    const auto known = steps_.find(choices);
    if (known != steps_.end()) return known->second;
  }
  return located(workload_.where, [&] {
    std::unique_ptr<JobSimulator> simulator = take();
    const JobRecord record = simulate(*simulator, choices);
    const JobStep step{record.step_time_s, break_down(workload_.job, record).mean.exposed_s};
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(simulator));
    ++simulations_;
    if (steps_.size() >= kMostSteps) steps_.clear();
    steps_.emplace(choices, step);
    return step;
  });
}

std::size_t TuningJob::simulations() const {
  const std::scoped_lock lock(mutex_);
  return simulations_;
}

// Context of a call: means over the times that the job makes it in its default step.
void TuningJob::find_contexts(const JobRecord& record) {
  const JobGraph& job = workload_.job;
  struct Sums {
    double compute_s = 0;
    double overlap_s = 0;
    int calls = 0;
  };
  std::vector<Sums> sums(calls_.size());
  double flop = 0;
  double bytes = 0;
  bool pipeline = false;
  for (const std::int32_t rank : members_) {
    const RankProgram& program = job.program(rank);
    const auto actor = at(record.lowered.classes.class_of[at(rank)]);
    const std::size_t first = record.lowered.first_op[actor];
    ComputingTime computing;
    for (std::int32_t index = 0; index < program.size(); ++index) {
      const JobOp& op = program.ops[at(index)];
      pipeline = pipeline || op.kind == JobOpKind::Send;
      if (op.kind != JobOpKind::Compute || op.communicates) continue;
      flop += op.flop;
      computing.add(record.start_s[first + at(index)], record.end_s[first + at(index)]);
    }
    computing.finish();
    double previous_s = 0;
    for (const std::int32_t index : execution_order(job, program)) {
      const JobOp& op = program.ops[at(index)];
      if (op.kind != JobOpKind::Collective) continue;
      const ProcessGroup& group = job.group(rank, op);
      if (group.communicator != workload_.communicator) continue;
      const NamedCall name{workload_.communicator_name(), op.collective, op.bytes};
      const auto call = std::ranges::find_if(named_, [&](const std::vector<NamedCall>& names) {
        return std::ranges::find(names, name) != names.end();
      });
      Sums& sum = sums[static_cast<std::size_t>(call - named_.begin())];
      const double start_s = record.start_s[first + at(index)];
      const double end_s = record.end_s[first + at(index)];
      bytes += static_cast<double>(op.bytes);
      sum.compute_s += std::max(0.0, computing.until(start_s) - computing.until(previous_s));
      sum.overlap_s += computing.until(end_s) - computing.until(start_s);
      ++sum.calls;
      previous_s = start_s;
    }
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    CallContext& context = calls_[i].context;
    context.compute_s = sums[i].compute_s / sums[i].calls;
    context.overlaps = sums[i].overlap_s > 0;
    context.intensity = flop / bytes;
    context.pipeline = pipeline;
  }
}

}  // namespace cclgym
