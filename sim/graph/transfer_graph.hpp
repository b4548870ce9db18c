// The input of an engine: a graph of transfers and delays over links of fixed capacity.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/edge_rows.hpp"
#include "sim/graph/node_shapes.hpp"

namespace cclgym {

inline constexpr double kNoRateCap = std::numeric_limits<double>::infinity();

/// A timed marked graph. Each graph node is a *flow* (a latency, then `bytes` over a route of links
/// shared max-min fairly with all other active flows, never faster than `rate_cap_Bps`) or a
/// *delay* (a flow with an empty route and zero bytes: only its latency).
///
/// A firing starts at the date s at which all its dependencies are done. It uses no link capacity
/// until s + latency_s; then it moves `bytes` at its fair rate. It is done when the last byte has
/// moved. A flow of zero bytes is done at s + latency_s.
///
/// Nodes may fire several times (`repeat`), which folds a regular structure (the steps of a ring,
/// the tiles of a pipeline) into one copy of it. An edge u -> v with lag k makes firing i of v wait
/// for firing i - k of u (for nothing if i < k). Firing i + 1 of a node never starts before firing
/// i is done, except for an *overlapping* delay (messages in flight), whose firings start as soon
/// as their dependencies are done. With repeat == 1 and lag == 0 this is a plain dependency DAG. An
/// edge of lag kFirstOnly holds back only firing 0 of v, until firing 0 of u is done (a launch
/// before the first tile of a pipeline); an edge of lag kAfterLast holds it back until the last
/// firing of u is done (the last tile before the next launch).
///
/// *Adaptive routes*: a part of a route may have alternatives (set_alternatives). Each firing of a
/// flow on such a route takes one alternative, chosen shortly after the firing starts by the rule
/// of RouteChooser (sim/graph/route_chooser.hpp), which all engines share.
///
/// *Background* (with_background): nodes for other jobs that run beside the graph's own nodes,
/// possibly forever, and share links with them. A run ends when all other nodes are done,
/// regardless of the background; background firings are not reported.
///
/// *Shared units* (set_link_units, add_hold): a link may stand for a resource of n units, such as
/// the SMs of a GPU. A node that holds units of it takes them when a firing is done, and another
/// node gives them back; while u units are taken, the link has max(1, n - u) / n of its capacity.
///
/// A node of a large graph takes five bytes, and an edge four (eight if some edge has a lag), if
/// few nodes differ; otherwise a node takes 33 (NodeShapes, EdgeRows). Immutable once finished; may
/// be shared by any number of engines.
class TransferGraph {
 public:
  using Edge = TransferEdge;
  static constexpr std::int32_t kFirstOnly = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int32_t kAfterLast = -1;
  /// `repeat` of a background node that fires until the run ends.
  static constexpr std::int32_t kForever = std::numeric_limits<std::int32_t>::max();

  // --- building ---
  /// Sets the capacity of every link, B/s; routes refer to links by index.
  void set_link_capacities(std::vector<double> capacities_Bps);
  /// Interns a route (a list of distinct link indices) and returns its index. Equal lists share one
  /// index. A flow on an empty route crosses no link: only its rate cap bounds it, and without one
  /// its bytes take no time.
  std::int32_t add_route(std::span<const std::int32_t> links);
  /// Adds a route on which one flow represents several identical flows: it loads link i like
  /// `loads[i]` (>= 1) flows at its rate. Not interned. Graphs with such routes have no
  /// alternatives and no background, and engine simgrid refuses them.
  std::int32_t add_loaded_route(std::span<const std::int32_t> links,
                                std::span<const std::int32_t> loads);
  /// Adds alternatives between two points, each a list of distinct link indices, and returns the
  /// number of the set. Sets are not interned: share one set among all routes that can use it.
  std::int32_t add_ways(std::span<const std::vector<std::int32_t>> ways);
  /// Flows on `route` may take an alternative of the set `ways` instead of its links number `first`
  /// to first + count - 1, which are alternative 0; the others are 1, 2, ... in the order of the
  /// set. List short ones first, as ties go to the first. No alternative may be empty or cross a
  /// link that the rest of the route crosses. A second call for a route must have the same
  /// arguments. finish() raises the latency of a flow with a choice to at least kRouteChoice_s.
  void set_alternatives(std::int32_t route, std::int32_t first, std::int32_t count,
                        std::int32_t ways);
  /// Copies the routes of a finished graph, with the same indices and choices, into a graph without
  /// routes.
  void copy_routes(const TransferGraph& from);
  static constexpr double kRouteChoice_s = 1e-9;
  /// Adds a flow. bytes >= 0 (need not be whole), latency_s >= 0, rate_cap_Bps > 0, repeat >= 1.
  TransferId add_flow(std::int32_t route, double bytes, double latency_s,
                      double rate_cap_Bps = kNoRateCap, std::int32_t repeat = 1);
  TransferId add_delay(double delay_s, std::int32_t repeat = 1, bool overlapping = false);
  /// `target` waits for `source`; see above for the meaning of `lag`, kFirstOnly and kAfterLast.
  void add_edge(TransferId source, TransferId target, std::int32_t lag = 0);
  /// `target` waits for an event that never happens (an unmatched receive): the engine reports it.
  void add_unsatisfiable_dependency(TransferId target);
  /// Declares that a link consists of `units` >= 1 equal units. Routes over it must cross no other
  /// link.
  void set_link_units(std::int32_t link, std::int32_t units);
  /// Each firing of `node` takes `units` of the link when it is done; if `units` is negative, it
  /// gives them back. Graphs with holds have no background.
  void add_hold(TransferId node, std::int32_t link, std::int32_t units);
  /// Sorts the edges into rows; nothing may be added afterwards. Throws std::logic_error on misuse.
  void finish();
  /// A finished copy in which no node fires more than `repeat` times: the first tiles of a
  /// pipeline.
  [[nodiscard]] TransferGraph truncated(std::int32_t repeat) const;
  /// Parts of a graph that depend on the size of a call, its protocol and its threads.
  struct Costs {
    std::vector<double> bytes;         ///< by node
    std::vector<double> latency_s;     ///< by node
    std::vector<double> rate_cap_Bps;  ///< by node
    std::vector<std::int32_t> repeat;  ///< by node
    std::vector<double> capacity_Bps;  ///< by link
  };
  /// A finished copy with other costs of this graph, which must have no background. Only the
  /// lengths of the vectors are checked.
  [[nodiscard]] TransferGraph with_costs(Costs costs) const;
  /// A finished copy with the nodes of `background` (flows of other jobs over the same links) after
  /// its own, which keep their ids. Only background nodes may have `repeat` kForever; such a node
  /// must take time (a latency, or bytes to move), and if it is overlapping, it must wait for
  /// another node by an edge with a lag >= 0 other than kFirstOnly. A flow that starts late waits
  /// for a delay by an edge of lag kFirstOnly; an intermittent flow waits for a delay (lag 0),
  /// which waits for the flow (lag 1). Background firings are not reported, and their entries in
  /// EngineResult are unspecified. A route in both graphs keeps this graph's choice. Throws
  /// std::logic_error on misuse.
  [[nodiscard]] TransferGraph with_background(const TransferGraph& background) const;

  // --- reading (after finish) ---
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(shapes_.size()); }
  /// Total firings: the sum of `repeat` over all nodes without the background.
  [[nodiscard]] std::int64_t firings() const { return firings_; }
  /// Firings of nodes that move bytes over links (the "flows" of a result), without the background.
  [[nodiscard]] std::int64_t flow_firings() const { return flow_firings_; }
  /// True if some node repeats, some edge has a lag, or there is a background.
  [[nodiscard]] bool folded() const { return folded_; }
  /// All numbers of the nodes at once.
  [[nodiscard]] const NodeShapes& shapes() const { return shapes_; }
  [[nodiscard]] double bytes(TransferId id) const { return shapes_[id].bytes; }
  [[nodiscard]] double latency_s(TransferId id) const { return shapes_[id].latency_s; }
  [[nodiscard]] double rate_cap_Bps(TransferId id) const { return shapes_[id].rate_cap_Bps; }
  [[nodiscard]] std::int32_t repeat(TransferId id) const { return shapes_[id].firings(); }
  [[nodiscard]] bool overlapping(TransferId id) const { return shapes_[id].overlapping(); }
  /// First background node; size() if there is none.
  [[nodiscard]] TransferId first_background() const {
    return first_background_ < 0 ? size() : first_background_;
  }
  [[nodiscard]] bool has_background() const { return first_background_ >= 0; }
  /// Route index, -1 for a delay.
  [[nodiscard]] std::int32_t route_of(TransferId id) const { return shapes_[id].route; }
  [[nodiscard]] std::int32_t routes() const {
    return static_cast<std::int32_t>(route_offset_.size()) - 1;
  }
  [[nodiscard]] std::span<const std::int32_t> route_links(std::int32_t route) const {
    const auto begin = route_offset_[at(route)];
    return {route_links_.data() + begin, route_offset_[at(route) + 1] - begin};
  }
  /// True if some flow represents several flows.
  [[nodiscard]] bool loaded() const { return !route_loads_.empty(); }
  /// Number of flows that a flow on a route represents on each link; empty if 1 everywhere.
  [[nodiscard]] std::span<const std::int32_t> route_loads(std::int32_t route) const {
    if (!loaded()) return {};
    const auto begin = route_offset_[at(route)];
    return {route_loads_.data() + begin, route_offset_[at(route) + 1] - begin};
  }
  /// Replaceable part of a route, and the set of its alternatives.
  struct Choice {
    std::int32_t first = 0;
    std::int32_t count = 0;
    std::int32_t ways = -1;  ///< -1: none
    bool operator==(const Choice&) const = default;
  };
  /// True if some route has alternatives.
  [[nodiscard]] bool adaptive() const { return !choices_.empty(); }
  [[nodiscard]] Choice choice(std::int32_t route) const {
    return at(route) < choices_.size() ? choices_[at(route)] : Choice{};
  }
  [[nodiscard]] std::int32_t way_sets() const {
    return static_cast<std::int32_t>(first_way_.size()) - 1;
  }
  /// Number of alternatives of a route; the first is the route itself.
  [[nodiscard]] std::int32_t ways(std::int32_t route) const {
    const Choice own = choice(route);
    return own.ways < 0 ? 1
                        : 1 + static_cast<std::int32_t>(first_way_[at(own.ways) + 1] -
                                                        first_way_[at(own.ways)]);
  }
  /// Links of alternative `way` >= 1, which replace the route's own.
  [[nodiscard]] std::span<const std::int32_t> way_links(const Choice& choice,
                                                        std::int32_t way) const {
    const std::size_t number = first_way_[at(choice.ways)] + at(way) - 1;
    return {way_links_.data() + way_offset_[number], way_offset_[number + 1] - way_offset_[number]};
  }
  /// All links of a route with one of its alternatives.
  void links_on_way(std::int32_t route, std::int32_t way, std::vector<std::int32_t>& links) const {
    const auto own = route_links(route);
    links.assign(own.begin(), own.end());
    if (way == 0) return;
    const Choice replaced = choice(route);
    const auto other = way_links(replaced, way);
    const auto at = links.erase(links.begin() + replaced.first,
                                links.begin() + replaced.first + replaced.count);
    links.insert(at, other.begin(), other.end());
  }
  [[nodiscard]] EdgeRow successors(TransferId id) const { return edges_.row(id); }
  /// The same of a graph that is not folded, whose edges have no lags.
  [[nodiscard]] std::span<const TransferId> targets(TransferId id) const {
    return {edges_.targets() + edges_.first(id), edges_.end(id) - edges_.first(id)};
  }
  /// Edges of all nodes of a folded graph, node by node.
  [[nodiscard]] std::span<const Edge> lagged_edges() const { return edges_.edges(); }
  /// Index of a node's first successor edge among all edges, for state per edge.
  [[nodiscard]] std::size_t first_edge(TransferId id) const { return edges_.first(id); }
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  /// Number of incoming edges, unsatisfiable ones included.
  [[nodiscard]] std::int32_t dependencies(TransferId id) const {
    return many_dependencies_.empty() ? dependencies_[at(id)] : many_dependencies_[at(id)];
  }
  /// Writes dependencies() of each node.
  void copy_dependencies(std::span<std::int32_t> counts) const;
  /// Bytes that nodes and edges take, without the spare room of vectors.
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::span<const double> link_capacities_Bps() const { return link_capacity_Bps_; }
  struct Hold {
    std::int32_t link;
    std::int32_t units;
  };
  /// True if some node takes units of a link.
  [[nodiscard]] bool holding() const { return !holds_.empty(); }
  /// Units that a firing of the node takes or gives back when it is done.
  [[nodiscard]] std::span<const Hold> holds(TransferId id) const {
    if (!holding()) return {};
    const auto begin = hold_offset_[at(id)];
    return {holds_.data() + begin, hold_offset_[at(id) + 1] - begin};
  }
  /// Capacity of a link while `taken` of its units are taken, B/s.
  [[nodiscard]] double capacity_left_Bps(std::int32_t link, std::int32_t taken) const;
  /// True if the other graph has the same links, routes, loads and choices.
  [[nodiscard]] bool same_network(const TransferGraph& other) const;

 private:
  void check_open(const char* function) const;
  void check_node(TransferId id, const char* function) const;
  TransferId add_node(const NodeShape& shape);
  void add_dependency(TransferId target);
  void grow_route_table();
  void check_ways() const;
  void raise_latencies();
  void append_background(const TransferGraph& background);
  void sort_holds();
  void check_background() const;

  NodeShapes shapes_;
  std::vector<std::uint8_t> dependencies_;       ///< by node, if no node has more than 255
  std::vector<std::int32_t> many_dependencies_;  ///< otherwise
  std::vector<std::size_t> route_offset_{0};
  std::vector<std::int32_t> route_links_;
  std::vector<std::int32_t> route_loads_;  ///< parallel to route_links_; empty: one everywhere
  std::vector<Choice> choices_;            ///< by route; routes beyond its end have none
  std::vector<std::size_t> first_way_{0};
  std::vector<std::size_t> way_offset_{0};
  std::vector<std::int32_t> way_links_;
  EdgeRows edges_;
  std::vector<std::int32_t> route_table_;  ///< open addressing, -1 is free; only while building
  std::vector<double> link_capacity_Bps_;
  std::vector<std::int32_t> link_units_;    ///< by link; 0 or missing: not divided
  std::vector<std::uint32_t> hold_offset_;  ///< by node, after finish; empty if nothing is held
  std::vector<Hold> holds_;
  std::vector<TransferId> hold_nodes_;  ///< used only while building
  std::int64_t firings_ = 0;
  std::int64_t flow_firings_ = 0;
  TransferId first_background_ = -1;  ///< -1: none
  bool folded_ = false;
  bool finished_ = false;
};

/// Nodes with a route on the longest dependency chain within one iteration. `also`: other nodes
/// that count, in ascending order.
[[nodiscard]] int longest_chain(const TransferGraph& graph, std::span<const TransferId> also = {});

}  // namespace cclgym
