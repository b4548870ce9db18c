// How a QuotientProgram is made from a lowered program.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/index.hpp"
#include "sim/fast/quotient_program.hpp"
#include "sim/graph/symmetry.hpp"
#include "sim/lowering/transfer_cost.hpp"

namespace cclgym {

namespace {

std::uint64_t mixed(std::uint64_t hash, double value) {
  hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

class QuotientBuilder {
 public:
  QuotientBuilder(const LoweredProgram& lowered, const Call& call, const Config& config,
                  QuotientProgram& made)
      : lowered_(lowered),
        config_(config),
        graph_(*lowered.graph),
        program_(*lowered.program),
        made_(made),
        tiles_(lowered.tiles),
        tile_bytes_(tile_bytes_of(made.cut_, call, tiles_)) {}

  bool build() {
    if ((tiles_ > 1 && tiles_ <= kMostSlots) || !describe_nodes()) return false;
    const bool adaptive = graph_.adaptive();
    if (adaptive) {
      node_class_.resize(at(graph_.size()));
      std::iota(node_class_.begin(), node_class_.end(), 0);
      take_whole();
    } else if (!divide()) {
      return false;
    }
    for (const TransferId last : lowered_.rank_last) {
      made_.watched_.push_back(node_class_[at(last)]);
    }
    std::ranges::sort(made_.watched_);
    made_.watched_.erase(std::unique(made_.watched_.begin(), made_.watched_.end()),
                         made_.watched_.end());
    return agrees();
  }

 private:
  using Cost = QuotientProgram::Cost;
  using Kind = QuotientProgram::Kind;

  [[nodiscard]] const Instruction& step(std::int32_t rank, std::int32_t block,
                                        std::int32_t number) const {
    return program_.gpus[at(rank)].thread_blocks[at(block)].steps[at(number)];
  }

  // What the cost of each node is made from.
  bool describe_nodes() {
    std::unordered_map<std::uint64_t, std::int32_t> known;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const NodeOrigin& origin = lowered_.origins[at(id)];
      Cost cost;
      if (graph_.route_of(id) >= 0) {
        const Instruction& send = step(origin.rank, origin.thread_block, origin.step);
        const Instruction& receive =
            step(origin.peer_rank, origin.peer_thread_block, origin.peer_step);
        cost.kind = Kind::Flow;
        cost.opcode = send.opcode;
        cost.count = send.count;
        cost.reducing = reduces(send.opcode) || reduces(receive.opcode);
        find_links(id, cost);
      } else if (origin.role == NodeRole::Arrival) {
        // The arrival of a flow is the node behind it.
        if (id == 0 || graph_.route_of(id - 1) < 0) return false;
        cost = made_.costs_[at(made_.nodes_.back().cost)];
        cost.kind = Kind::Arrival;
        cost.slow = false;
        find_links(id - 1, cost);
      } else if (origin.role == NodeRole::Step) {
        const Instruction& local = step(origin.rank, origin.thread_block, origin.step);
        cost.kind = Kind::Local;
        cost.opcode = local.opcode;
        cost.count = local.count;
      } else {
        cost.latency_s = graph_.latency_s(id);
      }
      find_whether_slow(id, cost);
      const std::uint64_t key = key_of(cost);
      const auto [entry, fresh] =
          known.try_emplace(key, static_cast<std::int32_t>(made_.costs_.size()));
      if (fresh) made_.costs_.push_back(std::move(cost));
      made_.nodes_.push_back({.cost = entry->second, .once = graph_.repeat(id) == 1});
      keys_.push_back(key);
    }
    return true;
  }

  void find_links(TransferId flow, Cost& cost) const {
    cost.fabric_links.clear();
    for (const std::int32_t link : graph_.route_links(graph_.route_of(flow))) {
      if (at(link) < lowered_.fabric_links) cost.fabric_links.push_back(link);
    }
  }

  // A GPU at one of its ends is slow if it costs more than it should.
  void find_whether_slow(TransferId id, Cost& cost) const {
    if (made_.slow_rate_ == 1) return;
    const QuotientProgram::Charge charge = made_.charge(cost, config_, tile_bytes_);
    if (cost.kind == Kind::Flow) cost.slow = graph_.rate_cap_Bps(id) != charge.rate_cap_Bps;
    if (cost.kind == Kind::Local) cost.slow = graph_.latency_s(id) != charge.latency_s;
  }

  // Nodes with the same key cost the same, whatever the size of the call and the protocol.
  [[nodiscard]] std::uint64_t key_of(const Cost& cost) const {
    std::uint64_t key = mixed(static_cast<std::uint64_t>(cost.kind), cost.count);
    key = mixed(key, static_cast<double>(cost.opcode));
    key = mixed(key, (cost.reducing ? 1 : 0) + (cost.slow ? 2 : 0));
    if (cost.kind == Kind::Fixed) return mixed(key, cost.latency_s);
    if (cost.kind == Kind::Local) return key;
    const bool network = std::any_of(
        cost.fabric_links.begin(), cost.fabric_links.end(),
        [this](LinkId link) { return made_.fabric_->links()[at(link)].kind == LinkKind::Network; });
    // The least message, of the one protocol that all models have: what its route adds.
    const TransferCost least = transfer_cost(made_.model_, *made_.fabric_, cost.fabric_links,
                                             Config{}, made_.runtime_, 1, cost.reducing);
    return mixed(mixed(mixed(key, network ? 1 : 0), least.latency_s), least.arrival_s);
  }

  // Every node is a class.
  void take_whole() {
    made_.graph_ = lowered_.graph;
    const std::size_t links = graph_.link_capacities_Bps().size();
    for (std::size_t link = 0; link < links; ++link) {
      made_.is_proxy_.push_back(link >= lowered_.fabric_links ? 1 : 0);
    }
  }

  // Classes of nodes that are alike, and their graph.
  bool divide() {
    std::optional<GraphSymmetry> found = find_symmetry(graph_, keys_);
    if (!found) return false;
    symmetry_ = std::move(*found);
    node_class_ = symmetry_.node_class;
    made_.share_ = static_cast<double>(symmetry_.node.size()) / static_cast<double>(graph_.size());
    std::vector<QuotientProgram::Node> nodes;
    for (const TransferId first : symmetry_.node) nodes.push_back(made_.nodes_[at(first)]);
    made_.nodes_ = std::move(nodes);
    auto classes = std::make_shared<TransferGraph>();
    add_links(*classes);
    for (std::size_t i = 0; i < made_.nodes_.size(); ++i) {
      const TransferId first = symmetry_.node[i];
      const std::int32_t route = made_.nodes_[i].class_of_bounds;
      if (route < 0) {
        classes->add_delay(0, graph_.repeat(first), graph_.overlapping(first));
      } else {
        classes->add_flow(route, 0, 0, kNoRateCap, graph_.repeat(first));
      }
    }
    add_edges(*classes);
    classes->finish();
    made_.graph_ = std::move(classes);
    return true;
  }

  // By class of links and class of flows: how many such flows one such link carries.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> loads() const {
    std::vector<std::vector<std::int32_t>> load(symmetry_.link.size(),
                                                std::vector<std::int32_t>(made_.nodes_.size(), 0));
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (graph_.route_of(id) < 0) continue;
      for (const std::int32_t link : graph_.route_links(graph_.route_of(id))) {
        const std::int32_t of = symmetry_.link_class[at(link)];
        if (symmetry_.link[at(of)] == link) ++load[at(of)][at(node_class_[at(id)])];
      }
    }
    return load;
  }

  // A class of links carries each class of flows as often as its first link does. Links of the
  // fabric that others on the way of all their flows bind before are left out.
  void add_links(TransferGraph& classes) {
    const std::vector<std::vector<std::int32_t>> load = loads();
    const auto all_Bps = graph_.link_capacities_Bps();
    std::vector<double> capacity_Bps;
    for (const std::int32_t first : symmetry_.link) {
      capacity_Bps.push_back(all_Bps[at(first)]);
      made_.is_proxy_.push_back(at(first) >= lowered_.fabric_links ? 1 : 0);
    }
    const auto binds_before = [&](std::size_t strict, std::size_t loose) {
      if (strict == loose || made_.is_proxy_[strict] != 0 || made_.is_proxy_[loose] != 0) {
        return false;
      }
      bool equal = true;
      for (std::size_t flow = 0; flow < load[loose].size(); ++flow) {
        const double loosely = load[loose][flow] / capacity_Bps[loose];
        const double strictly = load[strict][flow] / capacity_Bps[strict];
        if (strictly < loosely) return false;
        equal = equal && strictly == loosely;
      }
      return !equal || strict < loose;
    };
    std::vector<std::uint8_t> left_out(load.size(), 0);
    for (std::size_t of = 0; of < load.size(); ++of) {
      bool out = symmetry_.link_class[at(symmetry_.link[of])] < 0;
      for (std::size_t other = 0; other < load.size() && !out; ++other) {
        out = binds_before(other, of);
      }
      left_out[of] = out ? 1 : 0;
    }
    for (std::size_t node = 0; node < made_.nodes_.size(); ++node) {
      if (graph_.route_of(symmetry_.node[node]) < 0) continue;
      QuotientProgram::Bound bound;
      std::vector<std::int32_t> links;
      std::vector<std::int32_t> own_loads;
      for (std::size_t of = 0; of < load.size(); ++of) {
        const std::int32_t own = load[of][node];
        if (own == 0) continue;
        if (made_.is_proxy_[of] != 0) {
          bound.most_proxy_load = std::max(bound.most_proxy_load, own);
        } else {
          bound.narrowest_Bps = std::min(bound.narrowest_Bps, capacity_Bps[of] / own);
        }
        if (left_out[of] != 0) continue;
        links.push_back(static_cast<std::int32_t>(of));
        own_loads.push_back(own);
      }
      made_.nodes_[node].class_of_bounds = classes.add_loaded_route(links, own_loads);
      made_.bounds_.push_back(bound);
    }
    classes.set_link_capacities(std::move(capacity_Bps));
  }

  void add_edges(TransferGraph& classes) const {
    std::vector<std::pair<std::pair<TransferId, TransferId>, std::int32_t>> edges;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        const TransferId target = node_class_[at(edge.target)];
        if (symmetry_.node[at(target)] == edge.target) {
          edges.push_back({{node_class_[at(id)], target}, edge.lag});
        }
      }
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [ends, lag] : edges) classes.add_edge(ends.first, ends.second, lag);
  }

  // Are the costs that it finds those of the graph, to the bit? Choices of routes raise latencies.
  bool agrees() {
    const std::vector<QuotientProgram::Charge> charges = made_.charges(config_, tile_bytes_);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const QuotientProgram::Node& node = made_.nodes_[at(node_class_[at(id)])];
      const QuotientProgram::Charge& charge = charges[at(node.cost)];
      const bool raised =
          graph_.adaptive() && graph_.latency_s(id) == TransferGraph::kRouteChoice_s;
      if (charge.bytes != graph_.bytes(id) ||
          (charge.latency_s != graph_.latency_s(id) && !raised) ||
          charge.rate_cap_Bps != graph_.rate_cap_Bps(id) ||
          graph_.repeat(id) != (node.once ? 1 : tiles_)) {
        return false;
      }
    }
    return true;
  }

  const LoweredProgram& lowered_;
  const Config& config_;
  const TransferGraph& graph_;
  const ThreadBlockProgram& program_;
  QuotientProgram& made_;
  std::int32_t tiles_;
  double tile_bytes_;
  std::vector<std::uint64_t> keys_;  // by node
  GraphSymmetry symmetry_;
  std::vector<TransferId> node_class_;  // by node
};

std::unique_ptr<QuotientProgram> QuotientProgram::make(const LoweredProgram& lowered,
                                                       const Call& call, const Config& config,
                                                       std::shared_ptr<const Fabric> fabric,
                                                       const CostModel& model,
                                                       const NoiseProfile& noise) {
  if (!possible(model, noise) || !lowered.program || lowered.folded ||
      uses_switches(*lowered.program)) {
    return nullptr;
  }
  std::unique_ptr<QuotientProgram> made(
      new QuotientProgram(lowered, std::move(fabric), model, noise));
  if (!QuotientBuilder(lowered, call, config, *made).build()) return nullptr;
  return made;
}

}  // namespace cclgym
