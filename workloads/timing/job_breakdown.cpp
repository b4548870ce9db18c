#include "workloads/timing/job_breakdown.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cclgym {

namespace {

using Interval = std::pair<double, double>;

// The union of intervals as disjoint intervals in ascending order.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> parts;
  for (const Interval& interval : intervals) {
    if (interval.second <= interval.first) continue;
    if (!parts.empty() && interval.first <= parts.back().second) {
      parts.back().second = std::max(parts.back().second, interval.second);
    } else {
      parts.push_back(interval);
    }
  }
  return parts;
}

double length_of(const std::vector<Interval>& parts) {
  double length = 0;
  for (const Interval& part : parts) length += part.second - part.first;
  return length;
}

// Length of the intersection of two unions.
double common_length(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  double length = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    length += std::max(0.0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    (a[i].second < b[j].second ? i : j) += 1;
  }
  return length;
}

class Analysis {
 public:
  Analysis(const JobGraph& job, const JobRecord& record)
      : job_(job), record_(record), lowered_(record.lowered) {}

  JobBreakdown run() {
    const auto host_idle = std::find(job_.names.begin(), job_.names.end(), kHostIdleName);
    if (host_idle != job_.names.end()) {
      host_idle_ = static_cast<std::int32_t>(host_idle - job_.names.begin());
    }
    begin_s_.assign(lowered_.calls.size(), 0);
    measured_s_.assign(lowered_.calls.size(), 0);
    last_member_.assign(lowered_.calls.size(), {0, 0});
    for_each_op([this](std::size_t actor, std::int32_t index, const JobOp& op, std::size_t number) {
      const std::int32_t call = lowered_.ops[number].call;
      if (call < 0) return;
      double& measured_s = measured_s_[at(call)];
      if (op.seconds > 0 && (measured_s <= 0 || op.seconds < measured_s)) measured_s = op.seconds;
      if (record_.start_s[number] < begin_s_[at(call)]) return;
      begin_s_[at(call)] = record_.start_s[number];
      last_member_[at(call)] = {actor, index};
    });
    find_times();
    find_calls();
    find_path();
    return std::move(found_);
  }

 private:
  template <class Visit>
  void for_each_op(Visit&& visit) const {
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      const RankProgram& program = job_.program(lowered_.classes.actor[actor]);
      for (std::int32_t index = 0; index < program.size(); ++index) {
        visit(actor, index, program.ops[at(index)], lowered_.first_op[actor] + at(index));
      }
    }
  }

  void find_times() {
    double ranks = 0;
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      const RankProgram& program = job_.program(lowered_.classes.actor[actor]);
      std::vector<Interval> computing;
      std::vector<Interval> communicating;
      std::vector<Interval> working;  // computation without waiting for the host
      for (std::int32_t index = 0; index < program.size(); ++index) {
        const std::size_t number = lowered_.first_op[actor] + at(index);
        const JobOp& op = program.ops[at(index)];
        const Interval interval{record_.start_s[number], record_.end_s[number]};
        const bool computes = op.kind == JobOpKind::Compute && !op.communicates;
        (computes ? computing : communicating).push_back(interval);
        if (host_idle_ >= 0 && computes && op.name != host_idle_) {
          working.push_back(interval);
        }
      }
      computing = united(std::move(computing));
      communicating = united(std::move(communicating));
      RankTime time;
      time.overlap_s = common_length(computing, communicating);
      time.compute_s = length_of(computing) - time.overlap_s;
      time.exposed_s = length_of(communicating) - time.overlap_s;
      if (host_idle_ >= 0) {
        time.host_idle_s =
            std::max(0.0, length_of(computing) - length_of(united(std::move(working))));
      }
      time.idle_s =
          std::max(0.0, record_.step_time_s - time.overlap_s - time.compute_s - time.exposed_s);
      const double size = lowered_.classes.size[actor];
      found_.mean.overlap_s += size * time.overlap_s;
      found_.mean.compute_s += size * time.compute_s;
      found_.mean.exposed_s += size * time.exposed_s;
      found_.mean.idle_s += size * time.idle_s;
      found_.mean.host_idle_s += size * time.host_idle_s;
      ranks += size;
      found_.actors.push_back(time);
    }
    for (double* part : {&found_.mean.overlap_s, &found_.mean.compute_s, &found_.mean.exposed_s,
                         &found_.mean.idle_s, &found_.mean.host_idle_s}) {
      *part /= ranks;
    }
  }

  void find_calls() {
    using Key = std::tuple<std::int32_t, bool, CollectiveKind, std::uint64_t, int, std::string>;
    std::map<Key, std::size_t> rows;
    struct Sums {
      double time_s = 0;
      double wait_s = 0;
      double number = 0;
      double measured_s = 0;
      double measured_number = 0;
      std::map<std::size_t, std::vector<Interval>> by_actor;
    };
    std::vector<Sums> sums;
    for_each_op([&](std::size_t actor, std::int32_t, const JobOp& op, std::size_t number) {
      const std::int32_t call = lowered_.ops[number].call;
      if (call < 0 || lowered_.calls[at(call)].planned == nullptr) return;
      const ConfiguredCall& planned = *lowered_.calls[at(call)].planned;
      const std::int32_t rank = lowered_.classes.actor[actor];
      const std::int32_t communicator = job_.group(rank, op).communicator;
      const Key key{
          communicator,       op.kind != JobOpKind::Collective, planned.call.collective,
          planned.call.bytes, planned.view->fabric->ranks(),    config_label(planned.config)};
      const auto [row, fresh] = rows.try_emplace(key, found_.calls.size());
      if (fresh) {
        found_.calls.push_back({.communicator = communicator,
                                .collective = planned.call.collective,
                                .message = op.kind != JobOpKind::Collective,
                                .bytes = planned.call.bytes,
                                .ranks = planned.view->fabric->ranks(),
                                .config = planned.config});
        sums.emplace_back();
      }
      Sums& sum = sums[row->second];
      // A sender may be done before its receiver is ready.
      const double begin_s = std::min(begin_s_[at(call)], record_.end_s[number]);
      sum.time_s += record_.end_s[number] - begin_s;
      sum.wait_s += begin_s - record_.start_s[number];
      sum.number += 1;
      sum.measured_s += measured_s_[at(call)];
      sum.measured_number += measured_s_[at(call)] > 0 ? 1 : 0;
      sum.by_actor[actor].emplace_back(record_.start_s[number], record_.end_s[number]);
    });
    for (std::size_t row = 0; row < sums.size(); ++row) {
      CallSummary& summary = found_.calls[row];
      summary.time_s = sums[row].time_s / sums[row].number;
      summary.wait_s = sums[row].wait_s / sums[row].number;
      if (sums[row].measured_number > 0) {
        summary.measured_s = sums[row].measured_s / sums[row].measured_number;
      }
      for (auto& [actor, own] : sums[row].by_actor) {
        summary.calls = std::max(summary.calls, static_cast<std::int64_t>(own.size()));
        summary.total_s = std::max(summary.total_s, length_of(united(std::move(own))));
      }
    }
    std::stable_sort(
        found_.calls.begin(), found_.calls.end(),
        [](const CallSummary& a, const CallSummary& b) { return a.total_s > b.total_s; });
  }

  // Operation whose end is the latest among those that an operation waits for; -1: none.
  [[nodiscard]] std::int32_t binding(std::size_t actor, std::int32_t index) {
    if (previous_.size() <= actor) previous_.resize(lowered_.classes.count());
    const RankProgram& program = job_.program(lowered_.classes.actor[actor]);
    if (previous_[actor].empty() && program.size() > 0) {
      std::vector<std::int32_t> last(job_.streams.size(), -1);
      for (const JobOp& op : program.ops) {
        previous_[actor].push_back(last[at(op.stream)]);
        last[at(op.stream)] = static_cast<std::int32_t>(previous_[actor].size()) - 1;
      }
    }
    std::int32_t found = previous_[actor][at(index)];
    const auto end_of = [&](std::int32_t op) {
      return record_.end_s[lowered_.first_op[actor] + at(op)];
    };
    for (std::uint32_t d = program.dep_begin[at(index)]; d < program.dep_begin[at(index) + 1];
         ++d) {
      if (found < 0 || end_of(program.deps[d]) > end_of(found)) found = program.deps[d];
    }
    return found;
  }

  void find_path() {
    found_.path_communicator_s.assign(job_.communicators.size(), 0);
    std::size_t last = 0;
    for (std::size_t number = 1; number < record_.end_s.size(); ++number) {
      if (record_.end_s[number] > record_.end_s[last]) last = number;
    }
    if (record_.end_s.empty()) return;
    std::size_t actor = 0;
    while (lowered_.first_op[actor + 1] <= last) ++actor;
    auto index = static_cast<std::int32_t>(last - lowered_.first_op[actor]);
    std::vector<bool> passed(record_.end_s.size());  // operations of no time may tie in a circle
    while (index >= 0) {
      const std::size_t number = lowered_.first_op[actor] + at(index);
      if (passed[number]) break;
      passed[number] = true;
      const std::int32_t call = lowered_.ops[number].call;
      const double end_s = record_.end_s[number];
      if (call >= 0) {
        const bool alone = begin_s_[at(call)] >= end_s;  // a sender that does not wait
        const double begin_s = alone ? record_.start_s[number] : begin_s_[at(call)];
        found_.path.push_back({actor, index, begin_s, end_s});
        const std::int32_t rank = lowered_.classes.actor[actor];
        const JobOp& op = job_.program(rank).ops[at(index)];
        found_.path_communicator_s[at(job_.group(rank, op).communicator)] += end_s - begin_s;
        if (!alone) std::tie(actor, index) = last_member_[at(call)];
        passed[lowered_.first_op[actor] + at(index)] = true;
      } else {
        found_.path.push_back({actor, index, record_.start_s[number], end_s});
        const JobOp& op = job_.program(lowered_.classes.actor[actor]).ops[at(index)];
        (op.communicates ? found_.path_measured_s : found_.path_compute_s) +=
            end_s - record_.start_s[number];
        if (op.name == host_idle_) found_.path_host_idle_s += end_s - record_.start_s[number];
      }
      index = binding(actor, index);
    }
    std::reverse(found_.path.begin(), found_.path.end());
  }

  const JobGraph& job_;
  const JobRecord& record_;
  const LoweredJob& lowered_;
  JobBreakdown found_;
  std::int32_t host_idle_ = -1;     ///< index of kHostIdleName in JobGraph::names; -1: none
  std::vector<double> begin_s_;     ///< by call: the last rank has reached it
  std::vector<double> measured_s_;  ///< by call: shortest duration in the trace; 0: unknown
  std::vector<std::pair<std::size_t, std::int32_t>> last_member_;  ///< by call
  std::vector<std::vector<std::int32_t>> previous_;  ///< by actor, by op: previous of its stream
};

}  // namespace

JobBreakdown break_down(const JobGraph& job, const JobRecord& record) {
  return Analysis(job, record).run();
}

}  // namespace cclgym
