#include "sim/quotient_program.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "sim/lowering.hpp"
#include "sim/symmetry.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Of one chunk.
double tile_bytes_of(const ProgramCut& cut, const Call& call, std::int32_t tiles) {
  return static_cast<double>(call.bytes) / cut.chunks_per_call / tiles;
}

std::uint64_t mixed(std::uint64_t hash, double value) {
  hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

ProgramCut program_cut(const ThreadBlockProgram& program) {
  ProgramCut cut{program.contract.chunks_per_call(), longest_message(program), 0};
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      const auto sent = std::ranges::count_if(
          block.steps, [](const Instruction& step) { return sends(step.opcode); });
      cut.most_messages = std::max(cut.most_messages, static_cast<int>(sent));
    }
  }
  return cut;
}

std::int32_t tiles_of_call(const ProgramCut& cut, const Call& call, const Config& config) {
  return tiles_of(static_cast<double>(call.bytes) / cut.chunks_per_call * cut.longest_message,
                  config);
}

Call call_of_tiles(const ProgramCut& cut, Call call, const Config& config, std::int32_t tiles,
                   double fill) {
  const double chunk_bytes =
      fill * tiles * static_cast<double>(config.tile_bytes) / cut.longest_message;
  call.bytes =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(chunk_bytes * cut.chunks_per_call));
  return call;
}

bool uses_switches(const ThreadBlockProgram& program) {
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (step.group != kNoGroup) return true;
      }
    }
  }
  return false;
}

GraphShape graph_shape(const ProgramCut& cut, const CostModel& model, const Call& call,
                       const Config& config) {
  const std::int32_t tiles = tiles_of_call(cut, call, config);
  const double message_bytes = tile_bytes_of(cut, call, tiles) * cut.longest_message;
  GraphShape shape;
  shape.tiled = tiles > 1;
  shape.proxies = proxy_capacity_Bps(model, config.protocol, message_bytes) < kNoRateCap;
  // Whole messages that all have a slot each wait for none.
  shape.slots = !shape.tiled && cut.most_messages <= config.slots ? 0 : config.slots;
  return shape;
}

// Makes a QuotientProgram from a lowered program.
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
    const std::optional<GraphSymmetry> found = find_symmetry(graph_, keys_);
    if (!found) return false;
    symmetry_ = *found;
    made_.share_ = static_cast<double>(symmetry_.node.size()) / static_cast<double>(graph_.size());
    add_nodes();
    add_links();
    add_edges();
    for (const TransferId last : lowered_.rank_last) {
      made_.watched_.push_back(class_of(last));
    }
    std::ranges::sort(made_.watched_);
    made_.watched_.erase(std::unique(made_.watched_.begin(), made_.watched_.end()),
                         made_.watched_.end());
    return agrees();
  }

 private:
  using Node = QuotientProgram::Node;
  using Cost = QuotientProgram::Cost;

  [[nodiscard]] const Instruction& step(std::int32_t rank, std::int32_t block,
                                        std::int32_t number) const {
    return program_.gpus[at(rank)].thread_blocks[at(block)].steps[at(number)];
  }
  [[nodiscard]] TransferId class_of(TransferId node) const {
    return symmetry_.node_class[at(node)];
  }

  // What the cost of each node is made from.
  bool describe_nodes() {
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const NodeOrigin& origin = lowered_.origins[at(id)];
      Node node;
      node.overlapping = graph_.overlapping(id);
      node.once = graph_.repeat(id) == 1;
      node.latency_s = graph_.latency_s(id);
      if (graph_.route_of(id) >= 0) {
        const Instruction& send = step(origin.rank, origin.thread_block, origin.step);
        const Instruction& receive =
            step(origin.peer_rank, origin.peer_thread_block, origin.peer_step);
        node.cost = Cost::Flow;
        node.opcode = send.opcode;
        node.count = send.count;
        node.reducing = reduces(send.opcode) || reduces(receive.opcode);
      } else if (origin.role == NodeRole::Arrival) {
        // The arrival of a flow is the node behind it.
        if (id == 0 || nodes_.back().cost != Cost::Flow) return false;
        node = nodes_.back();
        node.cost = Cost::Arrival;
        node.overlapping = graph_.overlapping(id);
      } else if (origin.role == NodeRole::Step) {
        const Instruction& local = step(origin.rank, origin.thread_block, origin.step);
        node.cost = Cost::Local;
        node.opcode = local.opcode;
        node.count = local.count;
      }
      nodes_.push_back(node);
      find_whether_slow(id, nodes_.back());
      keys_.push_back(key_of(id, nodes_.back()));
    }
    return true;
  }

  [[nodiscard]] std::vector<LinkId> fabric_links(TransferId flow) const {
    std::vector<LinkId> links;
    for (const std::int32_t link : graph_.route_links(graph_.route_of(flow))) {
      if (at(link) < lowered_.fabric_links) links.push_back(link);
    }
    return links;
  }

  // A GPU at one of its ends is slow if it costs more than it should.
  void find_whether_slow(TransferId id, Node& node) const {
    if (made_.slow_rate_ == 1) return;
    if (node.cost == Cost::Flow) {
      const TransferCost cost =
          transfer_cost(made_.model_, *made_.fabric_, fabric_links(id), config_, made_.runtime_,
                        tile_bytes_ * node.count, node.reducing);
      node.slow = graph_.rate_cap_Bps(id) != cost.rate_cap_Bps;
    } else if (node.cost == Cost::Local) {
      node.slow = graph_.latency_s(id) != local_cost_s(made_.model_, config_, made_.runtime_,
                                                       node.opcode, tile_bytes_ * node.count);
    }
  }

  // Nodes with the same key cost the same, whatever the size of the call and the protocol.
  [[nodiscard]] std::uint64_t key_of(TransferId id, const Node& node) const {
    std::uint64_t key = mixed(static_cast<std::uint64_t>(node.cost), node.count);
    key = mixed(key, static_cast<double>(node.opcode));
    key = mixed(key, (node.reducing ? 1 : 0) + (node.slow ? 2 : 0));
    if (node.cost == Cost::Fixed) return mixed(key, node.latency_s);
    if (node.cost == Cost::Local) return key;
    const std::vector<LinkId> links = fabric_links(node.cost == Cost::Flow ? id : id - 1);
    const bool network = std::any_of(links.begin(), links.end(), [this](LinkId link) {
      return made_.fabric_->links()[at(link)].kind == LinkKind::Network;
    });
    // The least message, of the one protocol that all models have: what its route adds.
    const TransferCost least = transfer_cost(made_.model_, *made_.fabric_, links, Config{},
                                             made_.runtime_, 1, node.reducing);
    return mixed(mixed(mixed(key, network ? 1 : 0), least.latency_s), least.arrival_s);
  }

  void add_nodes() {
    for (const TransferId first : symmetry_.node) {
      Node node = nodes_[at(first)];
      if (node.cost == Cost::Flow) {
        node.route = static_cast<std::int32_t>(made_.routes_.size());
        QuotientProgram::Route& route = made_.routes_.emplace_back();
        route.fabric_links = fabric_links(first);
      }
      if (node.cost == Cost::Arrival) node.flow = class_of(first - 1);
      made_.nodes_.push_back(node);
    }
  }

  // A class of links carries each class of flows as often as its first link does. Links of the
  // fabric that others on the way of all their flows bind before are left out.
  void add_links() {
    const auto capacities = graph_.link_capacities_Bps();
    std::vector<std::vector<std::int32_t>> load(symmetry_.link.size(),
                                                std::vector<std::int32_t>(made_.nodes_.size(), 0));
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (graph_.route_of(id) < 0) continue;
      for (const std::int32_t link : graph_.route_links(graph_.route_of(id))) {
        const std::int32_t of = symmetry_.link_class[at(link)];
        if (symmetry_.link[at(of)] == link) ++load[at(of)][at(class_of(id))];
      }
    }
    for (const std::int32_t first : symmetry_.link) {
      made_.capacity_Bps_.push_back(capacities[at(first)]);
      made_.is_proxy_.push_back(at(first) >= lowered_.fabric_links ? 1 : 0);
    }
    const auto binds_before = [&](std::size_t strict, std::size_t loose) {
      if (strict == loose || made_.is_proxy_[strict] != 0 || made_.is_proxy_[loose] != 0) {
        return false;
      }
      bool equal = true;
      for (std::size_t flow = 0; flow < load[loose].size(); ++flow) {
        const double loosely = load[loose][flow] / made_.capacity_Bps_[loose];
        const double strictly = load[strict][flow] / made_.capacity_Bps_[strict];
        if (strictly < loosely) return false;
        equal = equal && strictly == loosely;
      }
      return !equal || strict < loose;
    };
    for (std::size_t of = 0; of < load.size(); ++of) {
      bool left_out = symmetry_.link_class[at(symmetry_.link[of])] < 0;
      for (std::size_t other = 0; other < load.size() && !left_out; ++other) {
        left_out = binds_before(other, of);
      }
      for (std::size_t node = 0; node < made_.nodes_.size(); ++node) {
        if (load[of][node] == 0) continue;
        QuotientProgram::Route& route = made_.routes_[at(made_.nodes_[node].route)];
        if (made_.is_proxy_[of] != 0) {
          route.most_proxy_load = std::max(route.most_proxy_load, load[of][node]);
        } else {
          const double share_Bps = made_.capacity_Bps_[of] / load[of][node];
          route.narrowest_Bps =
              route.narrowest_Bps == 0 ? share_Bps : std::min(route.narrowest_Bps, share_Bps);
        }
        if (left_out) continue;
        route.links.push_back(static_cast<std::int32_t>(of));
        route.loads.push_back(load[of][node]);
      }
    }
  }

  void add_edges() {
    std::vector<std::pair<std::pair<TransferId, TransferId>, std::int32_t>> edges;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        const TransferId target = class_of(edge.target);
        if (symmetry_.node[at(target)] == edge.target) {
          edges.push_back({{class_of(id), target}, edge.lag});
        }
      }
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [ends, lag] : edges) made_.edges_.push_back({ends.first, ends.second, lag});
  }

  // Are the costs that it finds those of the graph, to the bit?
  bool agrees() {
    std::vector<QuotientProgram::Costs> costs;
    made_.find_costs(config_, tile_bytes_, costs);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const std::size_t of = at(class_of(id));
      if (costs[of].bytes != graph_.bytes(id) || costs[of].latency_s != graph_.latency_s(id) ||
          costs[of].rate_cap_Bps != graph_.rate_cap_Bps(id) ||
          graph_.repeat(id) != (made_.nodes_[of].once ? 1 : tiles_)) {
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
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> keys_;
  GraphSymmetry symmetry_;
};

QuotientProgram::QuotientProgram(const LoweredProgram& lowered,
                                 std::shared_ptr<const Fabric> fabric, const CostModel& model,
                                 const NoiseProfile& noise)
    : fabric_(std::move(fabric)),
      model_(model),
      slow_rate_(noise.slow_gpus.any() ? noise.slow_gpus.rate : 1.0),
      runtime_(lowered.outline->runtime),
      cut_(program_cut(*lowered.program)),
      steps_(lowered.steps),
      share_(1) {}

bool QuotientProgram::possible(const CostModel& model, const NoiseProfile& noise) {
  return !noise.random() && !noise.any_load() && !model.random();
}

std::unique_ptr<QuotientProgram> QuotientProgram::make(const LoweredProgram& lowered,
                                                       const Call& call, const Config& config,
                                                       std::shared_ptr<const Fabric> fabric,
                                                       const CostModel& model,
                                                       const NoiseProfile& noise) {
  if (!possible(model, noise) || !lowered.program || lowered.folded || lowered.graph->adaptive() ||
      uses_switches(*lowered.program)) {
    return nullptr;
  }
  std::unique_ptr<QuotientProgram> made(
      new QuotientProgram(lowered, std::move(fabric), model, noise));
  if (!QuotientBuilder(lowered, call, config, *made).build()) return nullptr;
  return made;
}

// As the lowering has them, and sim/noise.cpp for slow GPUs.
void QuotientProgram::find_costs(const Config& config, double tile_bytes,
                                 std::vector<Costs>& costs) const {
  costs.resize(nodes_.size());
  const double instruction_s = model_.instruction_overhead_s +
                               (runtime_ == Runtime::Interpreter ? model_.interpreter_step_s : 0.0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    Costs& cost = costs[i];
    cost = {};
    const double bytes = tile_bytes * node.count;
    switch (node.cost) {
      case Cost::Fixed:
        cost.latency_s = node.latency_s;
        break;
      case Cost::Local:
        cost.latency_s = local_cost_s(model_, config, runtime_, node.opcode, bytes);
        if (node.slow && cost.latency_s > instruction_s) {
          cost.latency_s = instruction_s + (cost.latency_s - instruction_s) / slow_rate_;
        }
        break;
      case Cost::Flow:
      case Cost::Arrival: {
        const std::size_t flow = node.cost == Cost::Flow ? i : at(node.flow);
        const TransferCost transfer =
            transfer_cost(model_, *fabric_, routes_[at(nodes_[flow].route)].fabric_links, config,
                          runtime_, bytes, node.reducing);
        if (node.cost == Cost::Arrival) {
          cost.latency_s = transfer.arrival_s;
          break;
        }
        cost = {transfer.wire_bytes, transfer.latency_s, transfer.rate_cap_Bps};
        if (node.slow) cost.rate_cap_Bps *= slow_rate_;
        break;
      }
    }
  }
}

std::shared_ptr<const TransferGraph> QuotientProgram::graph_of(const Config& config,
                                                               std::int32_t tiles,
                                                               double tile_bytes) const {
  std::vector<Costs> costs;
  find_costs(config, tile_bytes, costs);
  const double proxy_Bps =
      proxy_capacity_Bps(model_, config.protocol, tile_bytes * cut_.longest_message);
  auto graph = std::make_shared<TransferGraph>();
  std::vector<double> capacities = capacity_Bps_;
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    // Tiles that are less full may be limited by none.
    if (is_proxy_[link] != 0) {
      capacities[link] = std::min(proxy_Bps, std::numeric_limits<double>::max());
    }
  }
  graph->set_link_capacities(std::move(capacities));
  for (const Route& route : routes_) (void)graph->add_loaded_route(route.links, route.loads);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const std::int32_t repeat = node.once ? 1 : tiles;
    if (node.cost != Cost::Flow) {
      graph->add_delay(costs[i].latency_s, repeat, node.overlapping);
      continue;
    }
    // All flows of a class move at once, so that none is faster than its share of a link.
    const Route& route = routes_[at(node.route)];
    double rate_Bps = costs[i].rate_cap_Bps;
    if (route.narrowest_Bps > 0) rate_Bps = std::min(rate_Bps, route.narrowest_Bps);
    if (route.most_proxy_load > 0) rate_Bps = std::min(rate_Bps, proxy_Bps / route.most_proxy_load);
    graph->add_flow(node.route, costs[i].bytes, costs[i].latency_s, rate_Bps, repeat);
  }
  for (const Edge& edge : edges_) graph->add_edge(edge.source, edge.target, edge.lag);
  graph->finish();
  return graph;
}

QuotientProgram::Timed QuotientProgram::time(Engine& engine, const Call& call,
                                             const Config& config) const {
  const std::int32_t tiles = tiles_of_call(cut_, call, config);
  // As many tiles as the simulator would take of the whole graph.
  TileBudget budget;
  budget.firings = static_cast<std::int64_t>(static_cast<double>(budget.firings) * share_);
  const TiledDates dates = run_tiles(
      engine, graph_of(config, tiles, tile_bytes_of(cut_, call, tiles)), tiles, watched_, budget);
  Timed timed{.time_s = 0, .tile_error_s = dates.error_s, .periodic = dates.periodic};
  for (const double end_s : dates.end_s) timed.time_s = std::max(timed.time_s, end_s);
  return timed;
}

double QuotientProgram::time_of_tiles_s(Engine& engine, const Config& config, std::int32_t tiles,
                                        double fill) const {
  const double most_bytes = static_cast<double>(config.tile_bytes) / cut_.longest_message;
  engine.load(graph_of(config, tiles, fill * most_bytes));
  const EngineResult result = engine.run();
  double time_s = 0;
  for (const TransferId last : watched_) time_s = std::max(time_s, result.end_s[at(last)]);
  return time_s;
}

}  // namespace cclgym
