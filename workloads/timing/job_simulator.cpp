#include "workloads/timing/job_simulator.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "workloads/timing/folding.hpp"

namespace cclgym {

namespace {

// Error that names the first few operations that wait.
SimulationStalled stalled_job(const JobGraph& job, const LoweredJob& lowered,
                              const std::vector<double>& end_s) {
  constexpr int kShown = 8;
  std::string message = fmt::format(
      "the simulation of job {} cannot finish: ranks wait for each other; "
      "let all ranks make their calls in the same order, or on different "
      "streams",
      quoted(job.name));
  int shown = 0;
  for (std::size_t actor = 0; actor < lowered.classes.count(); ++actor) {
    const std::int32_t rank = lowered.classes.actor[actor];
    for (const std::int32_t op : execution_order(job, job.program(rank))) {
      if (end_s[lowered.first_op[actor] + at(op)] >= 0) continue;
      message += "\n  " + describe_op(job, rank, op);
      ++shown;
      break;  // the others of the rank may wait for this one
    }
    if (shown == kShown) break;
  }
  return SimulationStalled(message);
}

void find_dates(JobRecord& record, const EngineResult& result) {
  const LoweredJob& lowered = record.lowered;
  const std::size_t ops = lowered.ops.size() - 1;
  record.start_s.resize(ops);
  record.end_s.resize(ops);
  for (std::size_t i = 0; i < ops; ++i) {
    const LoweredOp& op = lowered.ops[i];
    double start_s = result.end_s[at(op.end)];
    for (const TransferId start : lowered.starts_of(op)) {
      start_s = std::min(start_s, result.start_s[at(start)]);
    }
    record.start_s[i] = start_s;
    record.end_s[i] = result.end_s[at(op.end)];
    record.step_time_s = std::max(record.step_time_s, record.end_s[i]);
  }
}

// Marks the nodes that were done, for the message of a stalled job.
class DoneObserver final : public FiringObserver {
 public:
  explicit DoneObserver(std::size_t nodes) : end_s_(nodes, -1) {}
  void on_firing(TransferId node, std::int32_t /*iteration*/, double /*start_s*/,
                 double end_s) override {
    end_s_[at(node)] = end_s;
  }
  [[nodiscard]] double end_s(TransferId node) const { return end_s_[at(node)]; }

 private:
  std::vector<double> end_s_;
};

}  // namespace

std::int64_t count_calls(const JobGraph& job) {
  double calls = 0;
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    for (const JobOp& op : job.program(rank).ops) {
      if (op.kind == JobOpKind::Send) calls += 1;
      if (op.kind == JobOpKind::Collective) {
        calls += 1.0 / static_cast<double>(job.group(rank, op).ranks.size());
      }
    }
  }
  return static_cast<std::int64_t>(calls + 0.5);
}

std::string_view to_string(JobDetail detail) {
  return detail == JobDetail::Messages ? "messages" : "calls";
}

JobSimulator::JobSimulator(const JobGraph& job, std::shared_ptr<const Fabric> fabric,
                           const CostModel& model, const JobSettings& settings)
    : job_(job),
      settings_(settings),
      rates_(gpu_rates(*fabric, model, settings.efficiency)),
      views_(std::make_shared<GroupViews>(fabric, model)) {
  check_job(job);
  if (job.ranks > fabric->ranks()) {
    throw UserError(fmt::format("job {} has {} ranks, but fabric '{}' has {} GPUs",
                                quoted(job.name), job.ranks, fabric->name(), fabric->ranks()));
  }
  if (settings.detail == JobDetail::Calls && settings.engine == "simgrid") {
    throw UserError("engine 'simgrid' simulates jobs message by message only (detail 'messages')");
  }
  if (settings.fold && settings.detail != JobDetail::Calls) {
    throw std::logic_error("JobSimulator: only calls can be folded");
  }
  engine_ = make_engine(settings.engine);
}

JobRecord JobSimulator::run(const JobTuners& tuners) {
  views_->set_tuners(job_, tuners);
  JobRecord record;
  record.views = views_;
  RankClasses classes =
      settings_.fold ? fold_ranks(job_, *views_, flows_) : single_ranks(job_.ranks);
  record.lowered = lower_job(job_, *views_, flows_, rates_, settings_.detail, std::move(classes));
  engine_->load(record.lowered.graph);
  std::optional<LinkSeriesRecorder> series;
  if (settings_.intervals > 0) series.emplace(*record.lowered.graph);
  try {
    find_dates(record, engine_->run(series ? &*series : nullptr));
  } catch (const GraphStalled&) {
    DoneObserver done(at(record.lowered.graph->size()));
    std::vector<double> end_s;
    try {
      (void)engine_->run(&done);
    } catch (const GraphStalled&) {
      for (std::size_t i = 0; i + 1 < record.lowered.ops.size(); ++i) {
        end_s.push_back(done.end_s(record.lowered.ops[i].end));
      }
    }
    throw stalled_job(job_, record.lowered, end_s);
  }
  if (series) record.series = series->series(record.step_time_s, settings_.intervals);
  record.flows = record.lowered.graph->flow_firings();
  record.calls = count_calls(job_);
  return record;
}

JobRecord simulate_job(const JobGraph& job, std::shared_ptr<const Fabric> fabric,
                       const CostModel& model, const JobSettings& settings) {
  return JobSimulator(job, std::move(fabric), model, settings).run();
}

}  // namespace cclgym
