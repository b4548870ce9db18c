#include "collectives/compiler/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

#include "collectives/compiler/fuse.hpp"

namespace cclgym {

namespace {

/// Rows of successors, out of the DAG's rows of predecessors.
struct Successors {
  std::vector<std::size_t> first;
  std::vector<std::int32_t> operations;

  explicit Successors(const ChunkDag& dag) {
    const std::size_t count = dag.first.size() - 1;
    first.assign(count + 1, 0);
    for (const ChunkEdge& edge : dag.edges) ++first[static_cast<std::size_t>(edge.operation) + 1];
    for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
    operations.resize(dag.edges.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < count; ++i) {
      for (const ChunkEdge& edge : dag.predecessors(i)) {
        operations[next[static_cast<std::size_t>(edge.operation)]++] = static_cast<std::int32_t>(i);
      }
    }
  }
};

/// First level at which each connection is free.
class Connections {
 public:
  explicit Connections(const Program& program)
      : ranks_(static_cast<std::uint64_t>(program.contract.ranks())),
        channels_(static_cast<std::uint64_t>(program.channels)) {}

  /// Takes the first free level from `earliest` on.
  std::int32_t take(const Operation& operation, std::int32_t earliest) {
    if (!operation.remote()) return earliest;
    const auto source = static_cast<std::uint64_t>(operation.source.rank);
    const auto target = static_cast<std::uint64_t>(operation.target.rank);
    const auto channel = static_cast<std::uint64_t>(operation.channel);
    std::int32_t& free = free_[(source * ranks_ + target) * channels_ + channel];
    const std::int32_t level = std::max(free, earliest);
    free = level + 1;
    return level;
  }

 private:
  std::uint64_t ranks_;
  std::uint64_t channels_;
  std::unordered_map<std::uint64_t, std::int32_t> free_;
};

// Fills in the order: a counting sort by level, which keeps the trace order within a level.
void sort_by_level(Schedule& schedule, std::int32_t levels) {
  std::vector<std::size_t> next(static_cast<std::size_t>(levels) + 1, 0);
  for (const std::int32_t level : schedule.level) ++next[static_cast<std::size_t>(level) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  schedule.order.resize(schedule.level.size());
  for (std::size_t i = 0; i < schedule.level.size(); ++i) {
    schedule.order[next[static_cast<std::size_t>(schedule.level[i])]++] =
        static_cast<std::int32_t>(i);
  }
}

}  // namespace

Schedule make_schedule(const Program& program, const ChunkDag& dag) {
  const std::size_t count = program.operations.size();
  const Successors successors(dag);
  const std::vector<std::int32_t> forwarded = forwarded_operations(program, dag);
  const std::vector<std::int32_t> reverse_depth = reverse_depths(dag);
  Connections connections(program);
  Schedule schedule;
  schedule.level.assign(count, 0);  // until an operation is ready: the earliest level known so far
  std::vector<std::int32_t> missing(count);
  std::vector<std::vector<std::int32_t>> ready;  // by level
  std::int32_t levels = 0;
  std::size_t entered = 0;  // operations of the kernels that have begun
  const auto enter_kernel = [&] {
    const std::int32_t kernel = program.operations[entered].kernel;
    ready.resize(static_cast<std::size_t>(levels) + 1);
    for (; entered < count && program.operations[entered].kernel == kernel; ++entered) {
      const std::size_t i = entered;
      schedule.level[i] = levels;
      missing[i] = static_cast<std::int32_t>(dag.first[i + 1] - dag.first[i]);
      if (missing[i] == 0) ready.back().push_back(static_cast<std::int32_t>(i));
    }
  };
  for (std::size_t now = 0; now < ready.size() || entered < count; ++now) {
    if (now == ready.size()) {
      enter_kernel();
      now = static_cast<std::size_t>(levels);
    }
    std::vector<std::int32_t> operations;
    operations.swap(ready[now]);
    const auto priority = [&](std::int32_t number) {
      const auto i = static_cast<std::size_t>(number);
      const std::int32_t received = forwarded[i];
      const bool passes_on = received >= 0 &&
                             schedule.level[static_cast<std::size_t>(received)] + 1 ==
                                 static_cast<std::int32_t>(now) &&
                             program.operations[static_cast<std::size_t>(received)].channel ==
                                 program.operations[i].channel;
      return std::make_tuple(!passes_on, -reverse_depth[i], number);
    };
    std::sort(operations.begin(), operations.end(),
              [&](std::int32_t a, std::int32_t b) { return priority(a) < priority(b); });
    for (const std::int32_t number : operations) {
      const auto i = static_cast<std::size_t>(number);
      const std::int32_t level =
          connections.take(program.operations[i], static_cast<std::int32_t>(now));
      schedule.level[i] = level;
      levels = std::max(levels, level + 1);
      for (std::size_t k = successors.first[i]; k < successors.first[i + 1]; ++k) {
        const std::int32_t next = successors.operations[k];
        const auto j = static_cast<std::size_t>(next);
        schedule.level[j] = std::max(schedule.level[j], level + 1);
        if (--missing[j] > 0) continue;
        const auto at = static_cast<std::size_t>(schedule.level[j]);
        if (ready.size() <= at) ready.resize(at + 1);
        ready[at].push_back(next);
      }
    }
  }
  sort_by_level(schedule, levels);
  return schedule;
}

Schedule schedule_in_trace_order(const Program& program, const ChunkDag& dag) {
  const std::size_t count = program.operations.size();
  Connections connections(program);
  Schedule schedule;
  schedule.level.assign(count, 0);
  std::int32_t levels = 0;
  std::int32_t kernel_base = 0;  // first level of the current kernel
  for (std::size_t i = 0; i < count; ++i) {
    const Operation& operation = program.operations[i];
    if (i > 0 && operation.kernel != program.operations[i - 1].kernel) kernel_base = levels;
    std::int32_t earliest = kernel_base;
    for (const ChunkEdge& edge : dag.predecessors(i)) {
      const auto before = static_cast<std::size_t>(edge.operation);
      earliest = std::max(earliest, schedule.level[before] + 1);
    }
    schedule.level[i] = connections.take(operation, earliest);
    levels = std::max(levels, schedule.level[i] + 1);
  }
  sort_by_level(schedule, levels);
  return schedule;
}

}  // namespace cclgym
