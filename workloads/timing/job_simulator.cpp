#include "workloads/timing/job_simulator.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>

#include "core/counted.hpp"
#include "workloads/timing/folding.hpp"

namespace cclgym {

namespace {

// Message about a job whose ranks wait for each other: the first few that wait, and for whom.
class StalledJob {
 public:
  /// `end_s`: by LoweredJob::ops; negative: not done.
  StalledJob(const JobGraph& job, const LoweredJob& lowered, const std::vector<double>& end_s)
      : job_(job), lowered_(lowered), end_s_(end_s) {}

  SimulationStalled error() {
    find_waiting();
    find_missing();
    std::string text =
        fmt::format("the simulation of job {} cannot finish: ranks wait for each other, {}",
                    quoted(job_.name), cause());
    for (const Waiting& rank : waiting_) {
      text +=
          "\n  " + describe_op(job_, lowered_.classes.actor[rank.actor], rank.op) + waits_for(rank);
    }
    if (more_ > 0) text += fmt::format("\n  … and {}", counted(more_, "more rank"));
    return SimulationStalled(text);
  }

 private:
  struct Waiting {
    std::size_t actor;
    std::int32_t op;
  };

  [[nodiscard]] bool done(std::size_t actor, std::int32_t op) const {
    return end_s_[lowered_.first_op[actor] + at(op)] >= 0;
  }
  [[nodiscard]] const RankProgram& program(std::size_t actor) const {
    return job_.program(lowered_.classes.actor[actor]);
  }
  [[nodiscard]] const JobOp& op_of(const Waiting& rank) const {
    return program(rank.actor).ops[at(rank.op)];
  }

  // The first operation of a rank that is not done, in an order that respects its dependencies, is
  // the one that waits for other ranks.
  void find_waiting() {
    constexpr std::size_t kShown = 8;
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      const auto first = end_s_.begin() + static_cast<std::ptrdiff_t>(lowered_.first_op[actor]);
      const auto last = end_s_.begin() + static_cast<std::ptrdiff_t>(lowered_.first_op[actor + 1]);
      if (std::all_of(first, last, [](double end_s) { return end_s >= 0; })) continue;
      if (waiting_.size() == kShown) {
        ++more_;
        continue;
      }
      for (const std::int32_t op : execution_order(job_, program(actor))) {
        if (done(actor, op)) continue;
        waiting_.push_back({actor, op});
        const std::int32_t call = lowered_.op(actor, op).call;
        if (call >= 0) missing_.try_emplace(call);
        break;
      }
    }
  }

  // Ranks that have not reached the calls: an operation before theirs is not done.
  void find_missing() {
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      const RankProgram& own = program(actor);
      std::vector<std::int32_t> last_on(job_.streams.size(), -1);
      for (std::int32_t index = 0; index < own.size(); ++index) {
        std::int32_t& last = last_on[at(own.ops[at(index)].stream)];
        const auto call = missing_.find(lowered_.op(actor, index).call);
        if (call != missing_.end()) {
          bool reached = last < 0 || done(actor, last);
          for (std::uint32_t d = own.dep_begin[at(index)]; d < own.dep_begin[at(index) + 1]; ++d) {
            reached = reached && done(actor, own.deps[d]);
          }
          if (!reached) call->second.push_back(lowered_.classes.actor[actor]);
        }
        last = index;
      }
    }
  }

  [[nodiscard]] std::string cause() const {
    const auto is_message = [this](const Waiting& rank) {
      const JobOpKind kind = op_of(rank).kind;
      return kind == JobOpKind::Send || kind == JobOpKind::Recv;
    };
    if (std::none_of(waiting_.begin(), waiting_.end(), is_message)) {
      return "probably because they make their calls in different orders; let all ranks make them "
             "in the same order, or on different streams";
    }
    return "probably because sends, receives and calls come in different orders on the two ranks; "
           "let both have the same order, or put messages on other streams";
  }

  [[nodiscard]] std::string waits_for(const Waiting& rank) const {
    constexpr std::size_t kNamed = 4;
    const auto found = missing_.find(lowered_.op(rank.actor, rank.op).call);
    if (found == missing_.end()) return "";
    const std::int32_t own = lowered_.classes.actor[rank.actor];
    const std::string on =
        quoted(job_.communicators[at(job_.group(own, op_of(rank)).communicator)].name);
    const std::vector<std::int32_t>& ranks = found->second;
    if (ranks.empty()) return fmt::format(" on communicator {}, which all ranks have reached", on);
    const std::size_t named = std::min(kNamed, ranks.size());
    std::string text =
        fmt::format(" on communicator {}, waits for rank{} {}", on, ranks.size() == 1 ? "" : "s",
                    fmt::join(std::span(ranks).first(named), ", "));
    if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
    return text;
  }

  const JobGraph& job_;
  const LoweredJob& lowered_;
  const std::vector<double>& end_s_;
  std::vector<Waiting> waiting_;
  std::size_t more_ = 0;
  std::map<std::int32_t, std::vector<std::int32_t>> missing_;  ///< by call: ranks
};

// A rank has reached an operation when the operations that it waits for are done. Nodes of the
// graph may start later: the first of a receiver waits for the message.
void find_dates(const JobGraph& job, JobRecord& record, const EngineResult& result) {
  const LoweredJob& lowered = record.lowered;
  const std::size_t ops = lowered.ops.size();
  record.start_s.resize(ops);
  record.end_s.resize(ops);
  for (std::size_t i = 0; i < ops; ++i) {
    record.end_s[i] = result.end_s[at(lowered.ops[i].end)];
    record.step_time_s = std::max(record.step_time_s, record.end_s[i]);
  }
  for (std::size_t actor = 0; actor < lowered.classes.count(); ++actor) {
    const RankProgram& program = job.program(lowered.classes.actor[actor]);
    const std::size_t first = lowered.first_op[actor];
    std::vector<double> free_s(job.streams.size(), 0);  // by stream
    for (std::int32_t index = 0; index < program.size(); ++index) {
      double& stream_s = free_s[at(program.ops[at(index)].stream)];
      double start_s = stream_s;
      for (std::uint32_t d = program.dep_begin[at(index)]; d < program.dep_begin[at(index) + 1];
           ++d) {
        start_s = std::max(start_s, record.end_s[first + at(program.deps[d])]);
      }
      record.start_s[first + at(index)] = start_s;
      stream_s = record.end_s[first + at(index)];
    }
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
  flows_.tell(settings.on_call);
}

JobRecord JobSimulator::run(const JobTuners& tuners) {
  views_->set_tuners(job_, tuners);
  JobRecord record;
  record.views = views_;
  RankClasses classes =
      settings_.fold ? fold_ranks(job_, *views_, flows_) : single_ranks(job_.ranks);
  record.lowered = lower_job(job_, *views_, flows_, rates_, settings_.detail, std::move(classes));
  views_->check_choices(job_);
  engine_->load(record.lowered.graph);
  std::optional<LinkSeriesRecorder> series;
  if (settings_.intervals > 0) series.emplace(*record.lowered.graph);
  try {
    find_dates(job_, record, engine_->run(series ? &*series : nullptr));
  } catch (const GraphStalled&) {
    DoneObserver done(at(record.lowered.graph->size()));
    std::vector<double> end_s;
    try {
      (void)engine_->run(&done);
    } catch (const GraphStalled&) {
      for (const LoweredOp& op : record.lowered.ops) end_s.push_back(done.end_s(op.end));
    }
    throw StalledJob(job_, record.lowered, end_s).error();
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
