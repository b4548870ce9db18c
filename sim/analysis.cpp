#include "sim/analysis.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace cclgym {

std::vector<StepTime> step_times(const SimulationRecord& record) {
  const ThreadBlockProgram& program = *record.lowered.program;
  const int tiles = record.result.simulated_tiles;
  std::vector<StepTime> steps;
  std::vector<std::vector<std::size_t>> first(program.gpus.size());  // by rank, block
  for (std::size_t rank = 0; rank < program.gpus.size(); ++rank) {
    const auto& blocks = program.gpus[rank].thread_blocks;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      first[rank].push_back(steps.size());
      for (int tile = 0; tile < tiles; ++tile) {
        for (std::size_t step = 0; step < blocks[block].steps.size(); ++step) {
          steps.push_back({.rank = static_cast<int>(rank),
                           .thread_block = static_cast<int>(block),
                           .tile = tile,
                           .step = static_cast<int>(step)});
        }
      }
    }
  }
  const auto at = [&](int rank, int block, int step) -> std::size_t {
    return first[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)] +
           static_cast<std::size_t>(step);
  };
  const auto steps_of = [&](int rank, int block) -> std::size_t {
    return program.gpus[static_cast<std::size_t>(rank)]
        .thread_blocks[static_cast<std::size_t>(block)]
        .steps.size();
  };

  std::vector<TransferId> own_node(steps.size(), -1);
  std::vector<TransferId> arrival(steps.size(), -1);
  const int kernels = program.kernels();
  std::vector<double> start_s(program.gpus.size() * static_cast<std::size_t>(kernels), 0);
  const auto kernel_start_s = [&](int rank, int kernel) -> double& {
    return start_s[static_cast<std::size_t>(rank * kernels + kernel)];
  };
  for (TransferId id = 0; id < record.graph->size(); ++id) {
    const NodeOrigin& origin = record.lowered.origins[static_cast<std::size_t>(id)];
    if (origin.thread_block < 0) {
      // The launch of a later kernel is not its start.
      if (origin.role == NodeRole::Start || origin.step == 0) {
        kernel_start_s(origin.rank, origin.step) = record.end_s[record.firing(id, 0)];
      }
      continue;
    }
    std::size_t index = at(origin.rank, origin.thread_block, origin.step);
    for (int tile = 0; tile < tiles; ++tile) {
      if (origin.role == NodeRole::Arrival) {
        arrival[index] = id;
        index += steps_of(origin.rank, origin.thread_block);
        continue;
      }
      own_node[index] = id;
      if (origin.peer_rank >= 0) steps[index].flow = id;
      index += steps_of(origin.rank, origin.thread_block);
    }
    if (origin.peer_rank < 0) continue;
    index = at(origin.peer_rank, origin.peer_thread_block, origin.peer_step);
    for (int tile = 0; tile < tiles; ++tile) {
      if (steps[index].flow < 0) steps[index].flow = id;
      index += steps_of(origin.peer_rank, origin.peer_thread_block);
    }
  }

  double previous_end_s = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepTime& step = steps[i];
    if (step.step == 0 && step.tile == 0) {
      previous_end_s =
          kernel_start_s(step.rank, program.gpus[static_cast<std::size_t>(step.rank)]
                                        .thread_blocks[static_cast<std::size_t>(step.thread_block)]
                                        .kernel);
    }
    const auto end_s = [&](TransferId node) {
      return record.end_s[record.firing(node, step.tile)];
    };
    if (own_node[i] >= 0) {
      step.start_s = record.start_s[record.firing(own_node[i], step.tile)];
      step.end_s = end_s(own_node[i]);
    } else {
      step.start_s = previous_end_s;
      step.end_s = step.flow < 0 ? previous_end_s : std::max(previous_end_s, end_s(step.flow));
    }
    if (arrival[i] >= 0) step.end_s = std::max(step.end_s, end_s(arrival[i]));
    previous_end_s = step.end_s;
  }
  return steps;
}

std::vector<LinkUse> link_use(const SimulationRecord& record) {
  const TransferGraph& graph = *record.graph;
  std::vector<LinkUse> uses(graph.link_capacities_Bps().size());
  std::vector<std::int32_t> links;
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int32_t route = graph.route_of(id);
    if (route < 0) continue;
    const double bytes = graph.bytes(id) * record.lowered.graph->repeat(id);
    const bool chose = !record.way.empty() && graph.choice(route).ways >= 0;
    for (std::int32_t tile = 0; tile < graph.repeat(id); ++tile) {
      const std::size_t firing = record.firing(id, tile);
      const LinkInterval interval{id, tile, record.start_s[firing] + graph.latency_s(id),
                                  record.end_s[firing]};
      graph.links_on_way(route, chose ? record.way[firing] : 0, links);
      for (const std::int32_t link : links) {
        LinkUse& use = uses[static_cast<std::size_t>(link)];
        use.intervals.push_back(interval);
        // Tiles that were not simulated move as those that were.
        if (chose || tile == 0) use.bytes += chose ? bytes / graph.repeat(id) : bytes;
      }
    }
  }
  uses.resize(record.lowered.fabric_links);  // the proxies of the ranks are no links
  const bool all_tiles = record.result.simulated_tiles == record.result.tiles;
  const double scale = all_tiles ? 1 : record.result.time_s / record.simulated_s;
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
    use.busy_s *= scale;
  }
  return uses;
}

std::vector<Firing> critical_path(const SimulationRecord& record) {
  const TransferGraph& graph = *record.graph;
  const auto n = static_cast<std::size_t>(graph.size());
  struct Source {
    TransferId node;
    std::int32_t lag;
  };
  // What each node waits for, row by row, ascending.
  std::vector<std::size_t> offset(n + 1, 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      ++offset[static_cast<std::size_t>(edge.target) + 1];
    }
  }
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  std::vector<Source> sources(graph.edges());
  std::vector<std::size_t> next(offset.begin(), offset.end() - 1);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      sources[next[static_cast<std::size_t>(edge.target)]++] = {id, edge.lag};
    }
  }

  std::vector<Firing> path;
  if (n == 0) return path;
  const auto last = static_cast<std::size_t>(
      std::max_element(record.end_s.begin(), record.end_s.end()) - record.end_s.begin());
  const auto row = std::upper_bound(record.first_firing.begin(), record.first_firing.end(), last);
  Firing firing;
  firing.node = static_cast<TransferId>(row - record.first_firing.begin()) - 1;
  firing.tile = static_cast<std::int32_t>(last - record.firing(firing.node, 0));
  while (firing.node >= 0) {
    path.push_back(firing);
    // The one that was done last; ties go to the lowest node.
    Firing before;
    const auto consider = [&](TransferId node, std::int32_t tile) {
      if (tile < 0 || tile >= graph.repeat(node)) return;
      if (before.node < 0 || record.end_s[record.firing(node, tile)] >
                                 record.end_s[record.firing(before.node, before.tile)]) {
        before = {node, tile};
      }
    };
    for (std::size_t i = offset[static_cast<std::size_t>(firing.node)];
         i < offset[static_cast<std::size_t>(firing.node) + 1]; ++i) {
      const std::int32_t lag = sources[i].lag;
      if (lag != TransferGraph::kFirstOnly && lag != TransferGraph::kAfterLast) {
        consider(sources[i].node, firing.tile - lag);
      } else if (firing.tile == 0) {
        consider(sources[i].node,
                 lag == TransferGraph::kFirstOnly ? 0 : graph.repeat(sources[i].node) - 1);
      }
    }
    if (!graph.overlapping(firing.node)) consider(firing.node, firing.tile - 1);
    firing = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace cclgym
