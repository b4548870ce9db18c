#include "sim/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace cclgym {

std::vector<StepTime> step_times(const SimulationRecord& record) {
  const ProgramOutline& program = *record.lowered.outline;
  const int tiles = record.result.simulated_tiles;
  std::vector<StepTime> steps;
  std::vector<std::size_t> first;  // by block, over all ranks
  for (int rank = 0; rank < program.ranks(); ++rank) {
    for (std::uint32_t b = program.first_block(rank); b < program.first_block(rank + 1); ++b) {
      first.push_back(steps.size());
      for (int tile = 0; tile < tiles; ++tile) {
        for (std::int32_t step = 0; step < program.blocks[b].steps; ++step) {
          steps.push_back({.rank = rank,
                           .thread_block = static_cast<int>(b - program.first_block(rank)),
                           .tile = tile,
                           .step = step});
        }
      }
    }
  }
  const auto at = [&](int rank, int block, int tile, int step) -> std::size_t {
    const std::size_t b = program.first_block(rank) + static_cast<std::uint32_t>(block);
    return first[b] + static_cast<std::size_t>(tile * program.blocks[b].steps + step);
  };

  std::vector<Firing> own(steps.size());
  std::vector<Firing> arrival(steps.size());
  const int kernels = program.kernels();
  std::vector<double> start_s(static_cast<std::size_t>(program.ranks() * kernels), 0);
  const auto kernel_start_s = [&](int rank, int kernel) -> double& {
    return start_s[static_cast<std::size_t>(rank * kernels + kernel)];
  };
  for (TransferId id = 0; id < record.graph->size(); ++id) {
    const NodeOrigin& origin = record.lowered.origins[static_cast<std::size_t>(id)];
    if (origin.thread_block < 0) {
      // The launch of a later kernel is not the start of the block.
      if (origin.role == NodeRole::Start || origin.step == 0) {
        kernel_start_s(origin.rank, origin.step) = record.end_s[record.firing(id, 0)];
      }
      continue;
    }
    // Arrivals and what streams add are recorded with their flows.
    if (origin.role != NodeRole::Step) continue;
    const bool arrives =
        origin.peer_rank >= 0 && id + 1 < record.graph->size() &&
        record.lowered.origins[static_cast<std::size_t>(id) + 1].role == NodeRole::Arrival;
    for (std::int32_t firing = 0; firing < record.graph->repeat(id); ++firing) {
      const int tile = record.lowered.folded ? 0 : firing;
      std::size_t index =
          at(origin.rank, origin.thread_block, tile, step_of_firing(record.lowered, id, firing));
      own[index] = {id, firing};
      if (origin.peer_rank < 0) continue;
      steps[index].sent = {id, firing};
      index = at(origin.peer_rank, origin.peer_thread_block, tile,
                 receiving_step(record.lowered, id, firing));
      steps[index].received = {id, firing};
      if (arrives) arrival[index] = {id + 1, firing};
    }
  }

  double previous_end_s = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepTime& step = steps[i];
    if (step.step == 0 && step.tile == 0) {
      previous_end_s =
          kernel_start_s(step.rank, program.block(step.rank, step.thread_block).kernel);
    }
    const auto end_s = [&](const Firing& firing) {
      return record.end_s[record.firing(firing.node, firing.tile)];
    };
    if (step.received.flow >= 0) {
      step.arrival_s = arrival[i].node >= 0 ? end_s(arrival[i])
                                            : end_s({step.received.flow, step.received.firing});
    }
    if (own[i].node >= 0) {
      step.start_s = record.start_s[record.firing(own[i].node, own[i].tile)];
      step.end_s = end_s(own[i]);
    } else {
      step.start_s = step.end_s = previous_end_s;
    }
    if (step.received.flow >= 0) step.end_s = std::max(step.end_s, step.arrival_s);
    previous_end_s = step.end_s;
  }
  return steps;
}

namespace {

// Adds up the use of links by the firings of a record.
class LinkUses {
 public:
  LinkUses(const SimulationRecord& record, bool intervals)
      : record_(record),
        graph_(*record.graph),
        intervals_(intervals),
        uses_(graph_.link_capacities_Bps().size()),
        covered_to_s_(uses_.size(), 0) {}

  std::vector<LinkUse> run() {
    if (record_.summary) {
      each_crossing([&](TransferId node, std::int32_t link, std::int32_t load) {
        use(link).bytes += all_bytes(node) * load;
      });
      for (std::size_t link = 0; link < uses_.size(); ++link) {
        uses_[link].busy_s = record_.summary->busy_s[link];
      }
      return std::move(uses_);
    }
    bool detours = false;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (graph_.route_of(id) >= 0) detours = detours || takes_detours(id);
    }
    detours ? add_by_date() : add_by_link();
    return std::move(uses_);
  }

 private:
  struct Message {
    double start_s;
    TransferId node;
    std::int32_t tile;
  };

  [[nodiscard]] bool chooses(std::int32_t route) const {
    return !record_.way.empty() && graph_.choice(route).ways >= 0;
  }
  [[nodiscard]] bool takes_detours(TransferId node) const {
    if (!chooses(graph_.route_of(node))) return false;
    const std::uint16_t* way = record_.way.data() + record_.firing(node, 0);
    return std::any_of(way, way + graph_.repeat(node), [](std::uint16_t each) { return each > 0; });
  }
  // Adds all messages in the order in which their first bytes move.
  void add_by_date() {
    std::vector<Message> messages;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (graph_.route_of(id) >= 0) append(id, messages);
    }
    std::ranges::sort(messages, earlier);
    std::vector<std::int32_t> links;
    for (const Message& message : messages) {
      const std::int32_t route = graph_.route_of(message.node);
      const bool chose = chooses(route);
      const std::size_t firing = record_.firing(message.node, message.tile);
      graph_.links_on_way(route, chose ? record_.way[firing] : 0, links);
      for (const std::int32_t link : links) {
        if (chose) use(link).bytes += graph_.bytes(message.node) * share_of_tiles(message.node);
        if (!chose && message.tile == 0) use(link).bytes += all_bytes(message.node);
        cover(link, message);
      }
    }
  }

  // Adds the messages of each link by themselves: without detours, all firings of a node cross the
  // same links, and they follow each other.
  void add_by_link() {
    std::vector<std::size_t> begin(uses_.size() + 1, 0);
    each_crossing([&](TransferId, std::int32_t link, std::int32_t) {
      ++begin[static_cast<std::size_t>(link) + 1];
    });
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<TransferId> nodes(begin.back());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    each_crossing([&](TransferId node, std::int32_t link, std::int32_t load) {
      nodes[next[static_cast<std::size_t>(link)]++] = node;
      use(link).bytes += all_bytes(node) * load;
    });
    std::vector<Message> messages;
    for (std::size_t link = 0; link < uses_.size(); ++link) {
      const std::span<const TransferId> on_link(nodes.data() + begin[link],
                                                begin[link + 1] - begin[link]);
      messages.clear();
      for (const TransferId node : on_link) {
        const auto middle = static_cast<std::ptrdiff_t>(messages.size());
        append(node, messages);
        if (on_link.size() <= kMerged) {
          std::inplace_merge(messages.begin(), messages.begin() + middle, messages.end(), earlier);
        }
      }
      if (on_link.size() > kMerged) std::ranges::sort(messages, earlier);
      for (const Message& message : messages) cover(static_cast<std::int32_t>(link), message);
    }
  }

  // Calls visit(node, link, load) for each link on the route of each node.
  template <class Visit>
  void each_crossing(Visit&& visit) const {
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const std::int32_t route = graph_.route_of(id);
      if (route < 0) continue;
      const auto links = graph_.route_links(route);
      const auto loads = graph_.route_loads(route);
      for (std::size_t i = 0; i < links.size(); ++i) {
        visit(id, links[i], loads.empty() ? 1 : loads[i]);
      }
    }
  }

  static bool earlier(const Message& a, const Message& b) {
    return a.start_s != b.start_s ? a.start_s < b.start_s : a.node < b.node;
  }

  void append(TransferId node, std::vector<Message>& messages) const {
    for (std::int32_t tile = 0; tile < graph_.repeat(node); ++tile) {
      messages.push_back(
          {record_.start_s[record_.firing(node, tile)] + graph_.latency_s(node), node, tile});
    }
  }

  // Tiles that were not simulated move as many bytes as those that were.
  [[nodiscard]] double share_of_tiles(TransferId node) const {
    return static_cast<double>(record_.lowered.graph->repeat(node)) / graph_.repeat(node);
  }
  [[nodiscard]] double all_bytes(TransferId node) const {
    return graph_.bytes(node) * record_.lowered.graph->repeat(node);
  }
  [[nodiscard]] LinkUse& use(std::int32_t link) { return uses_[static_cast<std::size_t>(link)]; }

  void cover(std::int32_t link, const Message& message) {
    const LinkInterval interval{message.node, message.tile, message.start_s,
                                record_.end_s[record_.firing(message.node, message.tile)]};
    double& to_s = covered_to_s_[static_cast<std::size_t>(link)];
    const double from_s = std::max(to_s, interval.start_s);
    if (interval.end_s > from_s) use(link).busy_s += interval.end_s - from_s;
    to_s = std::max(to_s, interval.end_s);
    if (intervals_) use(link).intervals.push_back(interval);
  }

  const SimulationRecord& record_;
  const TransferGraph& graph_;
  bool intervals_;
  std::vector<LinkUse> uses_;
  std::vector<double> covered_to_s_;
  static constexpr std::size_t kMerged = 8;  // nodes on a link whose firings are merged
};

}  // namespace

std::vector<LinkUse> link_use(const SimulationRecord& record, bool intervals) {
  const TransferGraph& graph = *record.graph;
  std::vector<LinkUse> uses = LinkUses(record, intervals).run();
  std::vector<double> capacities_Bps(graph.link_capacities_Bps().begin(),
                                     graph.link_capacities_Bps().end());
  if (record.lowered.classes) {
    std::vector<LinkUse> all;
    std::vector<double> all_Bps;
    for (const std::int32_t of : record.lowered.classes->link) {
      all.push_back(of < 0 ? LinkUse{} : uses[static_cast<std::size_t>(of)]);
      all_Bps.push_back(of < 0 ? 0 : capacities_Bps[static_cast<std::size_t>(of)]);
    }
    uses = std::move(all);
    capacities_Bps = std::move(all_Bps);
  }
  uses.resize(record.lowered.fabric_links);  // drops the ranks' proxies
  const bool all_tiles = record.result.simulated_tiles == record.result.tiles;
  const double scale = all_tiles ? 1 : record.result.time_s / record.simulated_s;
  const double time_s = record.result.time_s;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    LinkUse& use = uses[link];
    use.busy_s *= scale;
    use.rate_Bps = time_s > 0 ? use.bytes / time_s : 0;
    use.capacity_Bps = capacities_Bps[link];
  }
  return uses;
}

std::vector<std::size_t> busiest_links(const std::vector<LinkUse>& uses) {
  constexpr double kGrid = 1e-9;  // rounding must not reorder links of equal use
  std::vector<std::size_t> order;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    if (uses[link].bytes > 0) order.push_back(link);
  }
  const auto rank = [&uses](std::size_t link) {
    const LinkUse& use = uses[link];
    return std::pair(std::round(use.share() / kGrid), std::round(use.busy_s / kGrid));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  return order;
}

std::string link_name(const Fabric& fabric, std::size_t link) {
  const auto name = [&fabric](NodeId node) -> const std::string& {
    return fabric.nodes()[static_cast<std::size_t>(node)].name;
  };
  const Link& l = fabric.links()[link];
  return name(l.source) + " -> " + name(l.target);
}

std::vector<DatedFiring> dated_critical_path(const SimulationRecord& record) {
  if (record.summary) return record.summary->path;
  std::vector<DatedFiring> path;
  for (const Firing& firing : critical_path(record)) {
    const std::size_t number = record.firing(firing.node, firing.tile);
    path.push_back({firing.node, firing.tile, record.start_s[number], record.end_s[number]});
  }
  return path;
}

std::vector<Firing> critical_path(const SimulationRecord& record) {
  std::vector<Firing> path;
  if (record.summary) {
    for (const DatedFiring& firing : record.summary->path) {
      path.push_back({firing.node, firing.tile});
    }
    return path;
  }
  const TransferGraph& graph = *record.graph;
  const auto n = static_cast<std::size_t>(graph.size());
  struct Source {
    TransferId node;
    std::int32_t lag;
  };
  // Predecessors of each node, row by row, ascending.
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

  if (n == 0) return path;
  const auto last = static_cast<std::size_t>(
      std::max_element(record.end_s.begin(), record.end_s.end()) - record.end_s.begin());
  const auto row = std::upper_bound(record.first_firing.begin(), record.first_firing.end(), last);
  Firing firing;
  firing.node = static_cast<TransferId>(row - record.first_firing.begin()) - 1;
  firing.tile = static_cast<std::int32_t>(last - record.firing(firing.node, 0));
  while (firing.node >= 0) {
    path.push_back(firing);
    // Predecessor that finished last; ties go to the node with the lowest index.
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
