#include "sim/analysis.hpp"

#include <algorithm>
#include <cstdint>

namespace cclgym {

std::vector<StepTime> step_times(const SimulationRecord& record) {
  const ThreadBlockProgram& program = *record.lowered.program;
  std::vector<StepTime> steps;
  std::vector<std::vector<std::size_t>> first(program.gpus.size());  // by rank, block
  for (std::size_t rank = 0; rank < program.gpus.size(); ++rank) {
    const auto& blocks = program.gpus[rank].thread_blocks;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      first[rank].push_back(steps.size());
      for (std::size_t step = 0; step < blocks[block].steps.size(); ++step) {
        steps.push_back({.rank = static_cast<int>(rank),
                         .thread_block = static_cast<int>(block),
                         .step = static_cast<int>(step)});
      }
    }
  }
  const auto at = [&](int rank, int block, int step) -> std::size_t {
    return first[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)] +
           static_cast<std::size_t>(step);
  };

  std::vector<TransferId> own_node(steps.size(), -1);
  std::vector<double> launch_end_s(program.gpus.size(), 0);
  for (TransferId id = 0; id < record.lowered.graph->size(); ++id) {
    const NodeOrigin& origin = record.lowered.origins[static_cast<std::size_t>(id)];
    if (origin.thread_block < 0) {
      launch_end_s[static_cast<std::size_t>(origin.rank)] =
          record.end_s[static_cast<std::size_t>(id)];
      continue;
    }
    const std::size_t index = at(origin.rank, origin.thread_block, origin.step);
    own_node[index] = id;
    if (origin.peer_rank < 0) continue;
    steps[index].flow = id;
    StepTime& receive = steps[at(origin.peer_rank, origin.peer_thread_block, origin.peer_step)];
    if (receive.flow < 0) receive.flow = id;
  }

  double previous_end_s = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepTime& step = steps[i];
    if (step.step == 0) previous_end_s = launch_end_s[static_cast<std::size_t>(step.rank)];
    if (own_node[i] >= 0) {
      step.start_s = record.start_s[static_cast<std::size_t>(own_node[i])];
      step.end_s = record.end_s[static_cast<std::size_t>(own_node[i])];
    } else {
      step.start_s = previous_end_s;
      step.end_s = step.flow < 0 ? previous_end_s
                                 : std::max(previous_end_s,
                                            record.end_s[static_cast<std::size_t>(step.flow)]);
    }
    previous_end_s = step.end_s;
  }
  return steps;
}

std::vector<LinkUse> link_use(const SimulationRecord& record) {
  const TransferGraph& graph = *record.lowered.graph;
  std::vector<LinkUse> uses(graph.link_capacities_Bps().size());
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int32_t route = graph.route_of(id);
    if (route < 0) continue;
    const auto node = static_cast<std::size_t>(id);
    const LinkInterval interval{id, record.start_s[node] + graph.latency_s(id), record.end_s[node]};
    for (const std::int32_t link : graph.route_links(route)) {
      LinkUse& use = uses[static_cast<std::size_t>(link)];
      use.bytes += graph.bytes(id);
      use.intervals.push_back(interval);
    }
  }
  for (LinkUse& use : uses) {
    std::sort(use.intervals.begin(), use.intervals.end(),
              [](const LinkInterval& a, const LinkInterval& b) {
                return a.start_s != b.start_s ? a.start_s < b.start_s : a.flow < b.flow;
              });
    double covered_to_s = 0;
    for (const LinkInterval& interval : use.intervals) {
      const double from_s = std::max(covered_to_s, interval.start_s);
      if (interval.end_s > from_s) use.busy_s += interval.end_s - from_s;
      covered_to_s = std::max(covered_to_s, interval.end_s);
    }
  }
  return uses;
}

std::vector<TransferId> critical_path(const SimulationRecord& record) {
  const TransferGraph& graph = *record.lowered.graph;
  const auto n = static_cast<std::size_t>(graph.size());
  // The predecessor that was done last; ties go to the lowest id.
  std::vector<TransferId> last_source(n, -1);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      TransferId& best = last_source[static_cast<std::size_t>(edge.target)];
      if (best < 0 || record.end_s[static_cast<std::size_t>(id)] >
                          record.end_s[static_cast<std::size_t>(best)]) {
        best = id;
      }
    }
  }
  std::vector<TransferId> path;
  if (n == 0) return path;
  const auto last = std::max_element(record.end_s.begin(), record.end_s.end());
  auto node = static_cast<TransferId>(last - record.end_s.begin());
  while (node >= 0) {
    path.push_back(node);
    node = last_source[static_cast<std::size_t>(node)];
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace cclgym
