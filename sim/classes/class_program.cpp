#include "sim/classes/class_program.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/class_graph.hpp"
#include "sim/graph/symmetry.hpp"

namespace cclgym {

namespace {

// Keys of nodes that cost the same and have the same place in the program's kernels.
std::vector<std::uint64_t> keys_of(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  std::map<std::tuple<double, double, double, NodeRole, std::int32_t>, std::uint64_t> known;
  std::vector<std::uint64_t> keys;
  keys.reserve(at(graph.size()));
  for (TransferId node = 0; node < graph.size(); ++node) {
    const NodeOrigin& origin = lowered.origins[at(node)];
    const std::int32_t kernel = origin.thread_block < 0 ? origin.step : -1;
    const auto fresh = static_cast<std::uint64_t>(known.size());
    keys.push_back(known
                       .try_emplace({graph.bytes(node), graph.latency_s(node),
                                     graph.rate_cap_Bps(node), origin.role, kernel},
                                    fresh)
                       .first->second);
  }
  return keys;
}

// Adds the last nodes of one rank, without repetition.
void add_last(LoweredProgram& made, std::vector<TransferId>& last) {
  std::ranges::sort(last);
  last.erase(std::unique(last.begin(), last.end()), last.end());
  made.rank_last.insert(made.rank_last.end(), last.begin(), last.end());
  made.rank_last_offset.push_back(made.rank_last.size());
}

// The parts of a program that its classes share.
LoweredProgram begin_classes(const LoweredProgram& lowered) {
  LoweredProgram made;
  made.outline = lowered.outline;
  made.program = lowered.program;
  made.fabric = lowered.fabric;
  made.costs.terms = lowered.costs.terms;
  made.costs.routes = lowered.costs.routes;
  made.costs.records = lowered.costs.records;
  made.rank_last_offset.push_back(0);
  made.kernels = lowered.kernels;
  made.fabric_links = lowered.fabric_links;
  made.steps = lowered.steps;
  made.tiles = lowered.tiles;
  made.folded = lowered.folded;
  made.messages = lowered.messages;
  return made;
}

std::uint64_t message_key(std::int32_t source, std::int32_t target, std::int32_t channel) {
  return (at(source) << 40U) | (at(target) << 16U) | at(channel);
}

// Builds the class graph of an exchange. In the examples all launches are alike, and every other
// node belongs to one example or to a copy of rank 0.
class ExchangeBuilder {
 public:
  ExchangeBuilder(const LoweredProgram& examples, const DirectExchange& exchange,
                  const ExchangeClasses& classes)
      : examples_(examples),
        graph_(*examples.graph),
        exchange_(exchange),
        classes_(classes),
        made_(begin_classes(examples)) {
    for (std::size_t i = 0; i < classes.first.size(); ++i) {
      const ExchangeMessage& first = classes.first[i];
      class_of_.emplace(message_key(first.source, first.target, first.channel),
                        static_cast<std::int32_t>(i));
    }
    of_message_.resize(classes.first.size());
  }

  LoweredProgram run() {
    auto graph = std::make_shared<TransferGraph>();
    std::vector<double> capacities_Bps;
    for (const std::int32_t link : classes_.link) {
      capacities_Bps.push_back(graph_.link_capacities_Bps()[at(link)]);
    }
    if (capacities_Bps.empty()) capacities_Bps.push_back(1);
    graph->set_link_capacities(std::move(capacities_Bps));
    NodeClasses counts;
    counts.link = classes_.link_class;
    counts.examples = true;
    for (TransferId id = 0; id < graph_.size(); ++id) add_node(*graph, counts, id);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const bool launch = is_launch(id);
      if (launch && examples_.origins[at(id)].rank > 0) {
        add_launch_edges(*graph, id);
        continue;
      }
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        graph->add_edge(node_[at(id)], node_[at(edge.target)], edge.lag);
      }
    }
    graph->finish();
    made_.graph = std::move(graph);
    made_.classes = std::make_shared<const NodeClasses>(std::move(counts));
    collect_last();
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool is_launch(TransferId id) const {
    return examples_.origins[at(id)].thread_block < 0;
  }
  [[nodiscard]] const OutlineBlock& block_of(const NodeOrigin& origin) const {
    return examples_.outline->block(origin.rank, origin.thread_block);
  }

  // Class of the message that a node belongs to; -1 for a copy.
  [[nodiscard]] std::int32_t message_of(const NodeOrigin& origin) const {
    const OutlineBlock& block = block_of(origin);
    if (block.send_peer >= 0) {
      return class_of_.at(message_key(origin.rank, block.send_peer, block.channel));
    }
    if (block.recv_peer >= 0) {
      return class_of_.at(message_key(block.recv_peer, origin.rank, block.channel));
    }
    return -1;
  }

  void add_node(TransferGraph& graph, NodeClasses& counts, TransferId id) {
    const NodeOrigin& origin = examples_.origins[at(id)];
    if (is_launch(id)) {
      if (launch_ >= 0) {
        node_.push_back(launch_);
        return;
      }
      launch_ = graph.add_delay(graph_.latency_s(id), graph_.repeat(id), graph_.overlapping(id));
      counts.nodes.push_back(exchange_.ranks);
    } else {
      const std::int32_t of = message_of(origin);
      counts.nodes.push_back(of < 0 ? exchange_.ranks : classes_.messages[at(of)]);
      (of < 0 ? copies_ : of_message_[at(of)]).push_back(graph.size());
      if (graph_.route_of(id) < 0) {
        (void)graph.add_delay(graph_.latency_s(id), graph_.repeat(id), graph_.overlapping(id));
      } else {
        add_flow(graph, id, of);
      }
    }
    node_.push_back(static_cast<TransferId>(made_.origins.size()));
    made_.origins.push_back(origin);
    made_.costs.record_of.push_back(examples_.costs.record_of[at(id)]);
  }

  void add_flow(TransferGraph& graph, TransferId id, std::int32_t of) {
    std::vector<std::int32_t> links;
    std::vector<std::int32_t> loads;
    for (const ExchangeClasses::Load& load : classes_.loads[at(of)]) {
      links.push_back(load.link);
      loads.push_back(load.messages);
    }
    (void)graph.add_flow(graph.add_loaded_route(links, loads), graph_.bytes(id),
                         graph_.latency_s(id), graph_.rate_cap_Bps(id), graph_.repeat(id));
  }

  // A node waits for the launch of its own rank, which all stand for the first.
  void add_launch_edges(TransferGraph& graph, TransferId launch) {
    for (const TransferGraph::Edge& edge : graph_.successors(launch)) {
      graph.add_edge(launch_, node_[at(edge.target)], edge.lag);
    }
  }

  // A rank is done when its launch, its copies and all its messages are done: no message ends
  // later at its target than the last node of its class.
  void collect_last() {
    std::vector<TransferId> last;
    for (int rank = 0; rank < exchange_.ranks; ++rank) {
      last = copies_;
      if (launch_ >= 0) last.push_back(launch_);
      for (const std::int32_t of : classes_.sent[at(rank)]) {
        for (const TransferId node : of_message_[at(of)]) {
          if (made_.graph->route_of(node) >= 0) last.push_back(node);
        }
      }
      for (const std::int32_t of : classes_.received[at(rank)]) {
        last.insert(last.end(), of_message_[at(of)].begin(), of_message_[at(of)].end());
      }
      add_last(made_, last);
    }
  }

  const LoweredProgram& examples_;
  const TransferGraph& graph_;
  const DirectExchange& exchange_;
  const ExchangeClasses& classes_;
  LoweredProgram made_;
  std::unordered_map<std::uint64_t, std::int32_t> class_of_;  // by message_key
  std::vector<TransferId> node_;                              // by node of the examples
  TransferId launch_ = -1;
  std::vector<TransferId> copies_;
  std::vector<std::vector<TransferId>> of_message_;  // nodes by class
};

}  // namespace

std::optional<LoweredProgram> program_of_classes(const LoweredProgram& lowered) {
  const TransferGraph& graph = *lowered.graph;
  if (!lowered.outline->gates.empty()) return std::nullopt;
  const std::optional<GraphSymmetry> symmetry =
      find_symmetry(graph, keys_of(lowered), at(graph.size()) / 4);
  if (!symmetry) return std::nullopt;
  LoweredProgram made = begin_classes(lowered);
  NodeClasses classes;
  classes.nodes.assign(symmetry->node.size(), 0);
  for (const std::int32_t of : symmetry->node_class) ++classes.nodes[at(of)];
  classes.link = symmetry->link_class;
  for (const TransferId first : symmetry->node) {
    made.origins.push_back(lowered.origins[at(first)]);
    made.costs.record_of.push_back(lowered.costs.record_of[at(first)]);
  }
  std::vector<TransferId> last;
  for (std::size_t rank = 0; rank + 1 < lowered.rank_last_offset.size(); ++rank) {
    last.clear();
    for (std::size_t i = lowered.rank_last_offset[rank]; i < lowered.rank_last_offset[rank + 1];
         ++i) {
      last.push_back(symmetry->node_class[at(lowered.rank_last[i])]);
    }
    add_last(made, last);
  }
  made.graph = class_graph(graph, *symmetry);
  made.classes = std::make_shared<const NodeClasses>(std::move(classes));
  return made;
}

LoweredProgram exchange_of_classes(const LoweredProgram& examples, const DirectExchange& exchange,
                                   const ExchangeClasses& classes) {
  return ExchangeBuilder(examples, exchange, classes).run();
}

std::int64_t flow_firings(const LoweredProgram& lowered) {
  if (!lowered.classes) return lowered.graph->flow_firings();
  std::int64_t total = 0;
  for (TransferId node = 0; node < lowered.graph->size(); ++node) {
    if (lowered.graph->route_of(node) < 0) continue;
    total += lowered.graph->repeat(node) * lowered.classes->nodes[at(node)];
  }
  return total;
}

double share_of_nodes(const LoweredProgram& lowered) {
  if (!lowered.classes) return 1;
  double nodes = 0;
  for (const std::int64_t count : lowered.classes->nodes) nodes += static_cast<double>(count);
  return static_cast<double>(lowered.graph->size()) / nodes;
}

}  // namespace cclgym
