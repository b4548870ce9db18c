// Exact time of a job by longest paths, if nothing shares a link.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "workloads/graph/job_graph.hpp"

namespace cclgym::test {

/// Time of the job if an operation takes `seconds_of(job, op)`. A call starts when all members have
/// started it, a Send when its Recv has started, so a job that is free of deadlocks here is free of
/// them whatever is buffered. Returns -1 for a deadlock.
template <class Seconds>
double exact_time(const JobGraph& job, Seconds seconds_of) {
  // One event per computation, call or message; edges are dependencies and the order of streams.
  std::vector<std::vector<std::int32_t>> event_of(at(job.ranks));
  std::vector<double> duration;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>,
           std::int32_t>
      shared;  // group, sender, receiver, tag, number
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>, std::int32_t> made;
    for (const JobOp& op : job.program(rank).ops) {
      std::int32_t event = static_cast<std::int32_t>(duration.size());
      if (op.kind != JobOpKind::Compute) {
        const std::int32_t group = job.groups_of[at(rank)][at(op.communicator)];
        std::int32_t from = -1;
        std::int32_t to = -1;
        if (op.kind != JobOpKind::Collective) {
          from = rank;
          to = job.groups[at(group)].ranks[at(op.peer)];
          if (op.kind == JobOpKind::Recv) std::swap(from, to);
        }
        const std::int32_t number = made[{group, from, to, op.tag}]++;
        event = shared.emplace(std::tuple{group, from, to, op.tag, number}, event).first->second;
      }
      if (at(event) == duration.size()) {
        duration.push_back(seconds_of(job, op));
      }
      event_of[at(rank)].push_back(event);
    }
  }
  std::vector<std::vector<std::int32_t>> next(duration.size());
  std::vector<std::int32_t> waits(duration.size(), 0);
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    const RankProgram& program = job.program(rank);
    const auto& events = event_of[at(rank)];
    std::map<std::int32_t, std::int32_t> last;
    const auto edge = [&](std::int32_t before, std::int32_t after) {
      next[at(before)].push_back(after);
      ++waits[at(after)];
    };
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (std::uint32_t d = program.dep_begin[i]; d < program.dep_begin[i + 1]; ++d) {
        edge(events[at(program.deps[d])], events[i]);
      }
      const auto found = last.find(program.ops[i].stream);
      if (found != last.end()) edge(found->second, events[i]);
      last[program.ops[i].stream] = events[i];
    }
  }
  std::vector<double> start(duration.size(), 0);
  std::vector<std::int32_t> order;
  for (std::size_t event = 0; event < waits.size(); ++event) {
    if (waits[event] == 0) order.push_back(static_cast<std::int32_t>(event));
  }
  double end = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double done = start[at(order[i])] + duration[at(order[i])];
    end = std::max(end, done);
    for (const std::int32_t after : next[at(order[i])]) {
      start[at(after)] = std::max(start[at(after)], done);
      if (--waits[at(after)] == 0) order.push_back(after);
    }
  }
  return order.size() == duration.size() ? end : -1;
}

/// Time proportional to FLOP, without the optimizer; communication costs nothing.
inline double flop_seconds(const JobGraph& job, const JobOp& op) {
  return job.names[at(op.name)] == "optimizer" ? 0 : op.flop;
}

/// FLOP of all ranks, without the optimizer.
inline double total_flop(const JobGraph& job) {
  double sum = 0;
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    for (const JobOp& op : job.program(rank).ops) sum += flop_seconds(job, op);
  }
  return sum;
}

/// Operations of a rank with a name on a communicator of this name ("tp").
struct FoundCalls {
  int count = 0;
  std::uint64_t bytes = 0;  ///< sum
  std::uint64_t first_bytes = 0;
};
inline FoundCalls find_calls(const JobGraph& job, std::int32_t rank, std::string_view communicator,
                             CollectiveKind kind, std::string_view name = "") {
  FoundCalls found;
  for (const JobOp& op : job.program(rank).ops) {
    if (op.kind != JobOpKind::Collective || op.collective != kind) continue;
    if (job.communicators[at(op.communicator)].name != communicator) continue;
    if (!name.empty() && job.names[at(op.name)] != name) continue;
    if (found.count++ == 0) found.first_bytes = op.bytes;
    found.bytes += op.bytes;
  }
  return found;
}

}  // namespace cclgym::test
