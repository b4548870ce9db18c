#include "sim/engine/fixed_rates.hpp"

#include <algorithm>
#include <bit>

#include "core/index.hpp"

namespace cclgym {

namespace {

// Bounds that add up to a capacity may exceed it by the rounding of their sum.
constexpr double kRounding = 1e-12;

// False for an edge with a lag of all firings of its target.
bool holds_back(const TransferGraph& graph, const TransferGraph::Edge& edge) {
  return edge.lag == TransferGraph::kFirstOnly || edge.lag < graph.repeat(edge.target);
}

// True if the edge holds back the first firing of its target only.
bool once(std::int32_t lag) {
  return lag == TransferGraph::kFirstOnly || lag == TransferGraph::kAfterLast;
}

// Rounds for which it is worth to copy the nodes that fire.
constexpr std::int64_t kManyRounds = 8;

// Edges of a node of a folded graph.
std::span<const TransferGraph::Edge> edges_of(const TransferGraph& graph, TransferId id) {
  const std::size_t first = graph.first_edge(id);
  return graph.lagged_edges().subspan(first, graph.first_edge(id + 1) - first);
}

// Bound of the dates that wait for their firings, per node and in all.
constexpr std::size_t kMostPlacesPerNode = 8;
constexpr std::size_t kMostPlaces = std::size_t{1} << 22U;

}  // namespace

bool FixedRates::load(const TransferGraph& graph) {
  graph_ = &graph;
  if (graph.has_background() || graph.holding()) return false;
  const bool fixed = may_fit() && order_nodes() && never_saturates();
  if (rate_Bps_.size() > NodeShapes::kOwn) rate_Bps_ = {};
  return fixed && (!graph.folded() || plan_folded());
}

// Sorts the nodes along their edges without a lag. False if some node can never fire.
bool FixedRates::order_nodes() {
  const TransferGraph& graph = *graph_;
  const auto orders = [](const TransferGraph::Edge& edge) {
    return edge.lag == 0 || once(edge.lag);
  };
  bool ascending = true;
  std::int64_t expected = 0;
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int64_t repeat = graph.repeat(id);
    if (repeat == TransferGraph::kForever) return false;
    expected += graph.dependencies(id);
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      if (orders(edge) && edge.target <= id) ascending = false;
      if (!once(edge.lag) && repeat + edge.lag < graph.repeat(edge.target)) return false;
    }
  }
  // A node may wait for something that never happens.
  if (expected != static_cast<std::int64_t>(graph.edges())) return false;
  order_.clear();
  if (ascending) return true;
  std::vector<std::int32_t> missing(at(graph.size()), 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      missing[at(edge.target)] += orders(edge) ? 1 : 0;
    }
  }
  order_.reserve(at(graph.size()));
  for (TransferId id = 0; id < graph.size(); ++id) {
    if (missing[at(id)] == 0) order_.push_back(id);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    for (const TransferGraph::Edge& edge : graph.successors(order_[i])) {
      if (orders(edge) && --missing[at(edge.target)] == 0) order_.push_back(edge.target);
    }
  }
  return order_.size() == at(graph.size());
}

// Sets the bounds of all flows. False if a link saturates with the fastest flow of each route
// alone.
bool FixedRates::may_fit() {
  const TransferGraph& graph = *graph_;
  const std::span<const double> capacities_Bps = graph.link_capacities_Bps();
  std::vector<double> narrowest_Bps;
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const auto links = graph.route_links(route);
    const auto loads = graph.route_loads(route);
    double least_Bps = kNoRateCap;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const double capacity_Bps = capacities_Bps[at(links[i])];
      least_Bps = std::min(least_Bps, loads.empty() ? capacity_Bps : capacity_Bps / loads[i]);
    }
    narrowest_Bps.push_back(least_Bps);
  }
  std::vector<double> demand_Bps(at(graph.routes()), 0);
  rate_Bps_.assign(graph.shapes().distinct(), 0);
  transfer_s_.assign(graph.shapes().distinct(), 0);
  for (std::size_t number = 0; number < rate_Bps_.size(); ++number) {
    const NodeShape& shape = graph.shapes().shape(number);
    if (shape.route < 0 || shape.bytes <= 0) continue;
    const double own_Bps = std::min(shape.rate_cap_Bps, narrowest_Bps[at(shape.route)]);
    if (own_Bps == kNoRateCap) continue;
    rate_Bps_[number] = own_Bps;
    transfer_s_[number] = shape.bytes / own_Bps;
    demand_Bps[at(shape.route)] = std::max(demand_Bps[at(shape.route)], own_Bps);
  }
  return fits(demand_Bps);
}

// True if flows that ask for these rates by route saturate no link. On adaptive routes no link is
// overloaded then, so that every flow takes its first way (RouteChooser::best).
bool FixedRates::fits(const std::vector<double>& demand_Bps) const {
  const TransferGraph& graph = *graph_;
  const std::span<const double> capacities_Bps = graph.link_capacities_Bps();
  std::vector<double> on_link_Bps(capacities_Bps.size(), 0);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const auto links = graph.route_links(route);
    const auto loads = graph.route_loads(route);
    for (std::size_t i = 0; i < links.size(); ++i) {
      on_link_Bps[at(links[i])] += demand_Bps[at(route)] * (loads.empty() ? 1 : loads[i]);
    }
  }
  const double most = graph.adaptive() ? 1 : 1 + kRounding;
  for (std::size_t link = 0; link < on_link_Bps.size(); ++link) {
    if (on_link_Bps[link] > capacities_Bps[link] * most) return false;
  }
  return true;
}

// True if no link can ever saturate. The flows of a node never overlap, nor do those of two nodes
// of which one waits for the other: a chain of such nodes on one route asks for the rate of its
// fastest flow only.
bool FixedRates::never_saturates() {
  const TransferGraph& graph = *graph_;
  std::vector<double> demand_Bps(at(graph.routes()), 0);  // by route, over its chains
  std::vector<double> before_Bps(at(graph.size()), -1);   // fastest of the chain; -1: none
  const auto rate_Bps = [&](TransferId id) { return rate_Bps_[graph.shapes().number(id)]; };
  const auto visit = [&](TransferId id) {
    const double own_Bps = rate_Bps(id);
    if (own_Bps == 0) return;
    const std::int32_t route = graph.route_of(id);
    double chain_Bps = std::max(0.0, before_Bps[at(id)]);
    if (own_Bps > chain_Bps) {
      demand_Bps[at(route)] += own_Bps - chain_Bps;
      chain_Bps = own_Bps;
    }
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      const bool serial =  // all firings of the target are after all of this node
          edge.lag == TransferGraph::kAfterLast ||
          (graph.repeat(id) == 1 && (edge.lag == 0 || edge.lag == TransferGraph::kFirstOnly));
      if (serial && graph.route_of(edge.target) == route && rate_Bps(edge.target) > 0 &&
          before_Bps[at(edge.target)] < 0) {
        before_Bps[at(edge.target)] = chain_Bps;
        break;
      }
    }
  };
  for_each_in_order(visit);
  return fits(demand_Bps);
}

// Firing i of a node is computed in round first + i, where `first` is its first round. A node that
// waits for the last firing of another begins in the round of that firing. False if a node then
// waits for a firing of a later round, or if too many dates wait for their firings.
bool FixedRates::plan_folded() {
  const TransferGraph& graph = *graph_;
  std::vector<std::int64_t> first(at(graph.size()), 0);
  for_each_in_order([&](TransferId id) {
    for (const TransferGraph::Edge& edge : edges_of(graph, id)) {
      if (edge.lag != 0 && !once(edge.lag)) continue;
      const std::int64_t after = edge.lag == TransferGraph::kAfterLast ? graph.repeat(id) - 1 : 0;
      first[at(edge.target)] = std::max(first[at(edge.target)], first[at(id)] + after);
    }
  });
  std::vector<std::int64_t> ahead(at(graph.size()), 0);  // by which a dependency may be known
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : edges_of(graph, id)) {
      if (!holds_back(graph, edge) || once(edge.lag)) continue;
      const std::int64_t rounds = first[at(edge.target)] - first[at(id)] + edge.lag;
      if (rounds < 0) return false;
      ahead[at(edge.target)] = std::max(ahead[at(edge.target)], rounds);
    }
  }
  std::vector<std::uint32_t> places(at(graph.size()));
  std::vector<std::uint32_t> masks(at(graph.size()));
  std::size_t all = 0;
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::size_t needed = at(ahead[at(id)]) + 1;
    const std::size_t depth = std::bit_ceil(std::min(needed, at(graph.repeat(id))));
    places[at(id)] = static_cast<std::uint32_t>(all);
    masks[at(id)] = static_cast<std::uint32_t>(depth - 1);
    all += depth;
  }
  if (all > kMostPlaces + kMostPlacesPerNode * at(graph.size())) return false;
  ready_s_.resize(all);
  nodes_.clear();
  edges_.clear();
  turns_.clear();
  nodes_.reserve(at(graph.size()));
  edges_.reserve(graph.edges());
  for_each_in_order([&](TransferId id) {
    const auto begin = static_cast<std::uint32_t>(edges_.size());
    for (const TransferGraph::Edge& edge : edges_of(graph, id)) {
      if (!holds_back(graph, edge)) continue;
      const std::int32_t only = edge.lag == TransferGraph::kFirstOnly ? 0
                                : edge.lag == TransferGraph::kAfterLast
                                    ? graph.repeat(id) - 1
                                    : -graph.repeat(edge.target);
      edges_.push_back({places[at(edge.target)], masks[at(edge.target)],
                        only < 0 ? static_cast<std::uint32_t>(edge.lag) : 0, only});
    }
    nodes_.push_back({graph.latency_s(id), transfer_s_[graph.shapes().number(id)], first[at(id)],
                      id, graph.repeat(id), places[at(id)], masks[at(id)], begin,
                      static_cast<std::uint32_t>(edges_.size()),
                      static_cast<std::uint32_t>(nodes_.size()), graph.overlapping(id)});
    turns_.push_back(first[at(id)]);
    turns_.push_back(first[at(id)] + graph.repeat(id));
  });
  std::ranges::sort(turns_);
  turns_.erase(std::unique(turns_.begin(), turns_.end()), turns_.end());
  return true;
}

double FixedRates::run(std::span<double> start_s, std::span<double> end_s,
                       FiringObserver* observer) {
  if (observer != nullptr) observer->on_fixed_rates(transfer_s_);
  if (graph_->folded()) return run_folded(start_s, end_s, observer);
  const bool own_shapes = graph_->shapes().distinct() == at(graph_->size());
  return own_shapes ? run_plain<true>(start_s, end_s, observer)
                    : run_plain<false>(start_s, end_s, observer);
}

template <bool kOwnShapes>
double FixedRates::run_plain(std::span<double> start_s, std::span<double> end_s,
                             FiringObserver* observer) {
  const TransferGraph& graph = *graph_;
  std::ranges::fill(start_s, 0.0);
  double makespan_s = 0;
  const auto fire = [&](TransferId id) {
    const double begin_s = start_s[at(id)];
    // The same two sums as in engine flow, whose dates are the end of the latency and of the bytes.
    const std::size_t number = kOwnShapes ? at(id) : graph.shapes().number(id);
    const NodeShape& shape = graph.shapes().shape(number);
    const double done_s = begin_s + shape.latency_s + transfer_s_[number];
    end_s[at(id)] = done_s;
    makespan_s = std::max(makespan_s, done_s);
    if (shape.overlapping()) start_s[at(id)] = done_s - shape.latency_s;
    for (const TransferId target : graph.targets(id)) {
      start_s[at(target)] = std::max(start_s[at(target)], done_s);
    }
  };
  for_each_in_order(fire);
  if (observer != nullptr) {
    for_each_in_order(
        [&](TransferId id) { observer->on_firing(id, 0, start_s[at(id)], end_s[at(id)]); });
  }
  return makespan_s;
}

double FixedRates::run_folded(std::span<double> start_s, std::span<double> end_s,
                              FiringObserver* observer) {
  std::ranges::fill(ready_s_, 0.0);
  for (Node& node : nodes_) node.next_s = 0;
  double makespan_s = 0;
  double* const ready_dates_s = ready_s_.data();
  const Edge* const edges = edges_.data();
  const std::uint8_t* unneeded = nullptr;
  const auto fire = [=, &makespan_s, &unneeded](Node& node, std::int64_t round) {
    const auto firing = static_cast<std::int32_t>(round - node.first);
    const auto own = static_cast<std::uint32_t>(firing);
    double& ready_s = ready_dates_s[node.ready + (own & node.mask)];
    double begin_s = std::max(ready_s, node.next_s);
    ready_s = 0;
    const double done_s = begin_s + node.latency_s + node.transfer_s;
    // An overlapping node may fire again at once, but not earlier. Engine flow computes the start
    // of such a firing from its end.
    node.next_s = node.overlapping ? begin_s : done_s;
    if (node.overlapping) begin_s = done_s - node.latency_s;
    makespan_s = std::max(makespan_s, done_s);
    for (std::uint32_t e = node.edges; e < node.edges_end; ++e) {
      const Edge& edge = edges[e];
      const std::uint32_t target = edge.only < 0 ? own + edge.lag : 0;
      if (edge.only < 0 ? target >= static_cast<std::uint32_t>(-edge.only) : edge.only != firing) {
        continue;
      }
      double& wait_s = ready_dates_s[edge.ready + (target & edge.mask)];
      wait_s = std::max(wait_s, done_s);
    }
    if (observer != nullptr && (unneeded == nullptr || unneeded[node.id] == 0)) {
      observer->on_firing(node.id, firing, begin_s, done_s);
    }
    if (firing + 1 == node.repeat) {
      start_s[at(node.id)] = begin_s;
      end_s[at(node.id)] = done_s;
    }
  };
  for (std::size_t turn = 0; turn + 1 < turns_.size(); ++turn) {
    live_.clear();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].first <= turns_[turn] && turns_[turn] < nodes_[i].first + nodes_[i].repeat) {
        live_.push_back(i);
      }
    }
    if (turns_[turn + 1] - turns_[turn] < kManyRounds) {
      for (std::int64_t round = turns_[turn]; round < turns_[turn + 1]; ++round) {
        for (const std::uint32_t i : live_) fire(nodes_[i], round);
      }
      continue;
    }
    // Side by side, the nodes that fire are fetched from memory ahead of their use.
    live_nodes_.clear();
    for (const std::uint32_t i : live_) live_nodes_.push_back(nodes_[i]);
    for (std::int64_t round = turns_[turn]; round < turns_[turn + 1]; ++round) {
      if (observer != nullptr) unneeded = observer->unneeded().data();
      for (Node& node : live_nodes_) fire(node, round);
    }
    for (const Node& node : live_nodes_) nodes_[node.place].next_s = node.next_s;
  }
  return makespan_s;
}

}  // namespace cclgym
