// Which of its alternative routes a flow takes: the one rule that every engine follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Adaptive routing in the manner of UGAL (Universal Globally Adaptive Load-balancing; Singh,
/// Load-Balanced Routing in Interconnection Networks, 2005): a packet takes a detour if queue times
/// hops is less there than on its minimal way. A queue grows where more flows onto a link than it
/// carries, so that here:
///
/// * The *demand* of a flow is the rate that it could move at by itself on way 0. It counts on
/// every
///   link that the flow takes from the choice on (if it has none: from the start of the firing)
///   until the firing is done.
/// * The *load* of a link, seen by a flow, is the demand on it, that of the flow included, over its
///   capacity.
/// * The links of the route that all ways have in common (to the first switch, from the last)
/// cannot
///   be avoided. What they allow is the greatest of 1 and their loads: a flow that waits there has
///   no queue elsewhere.
/// * The *cost* of a way is (greatest load of its links - what the common ones allow, or 0 if that
///   is less) x number of its links. The flow takes the way of the least cost, of equals the first.
///
/// When: the first firing that has a choice to make opens a window of kWindow_s. All that start
/// within it choose when it closes, one after the other in the order of their nodes, each seeing
/// those before it. No flow moves bytes before (TransferGraph::kRouteChoice_s). So flows that start
/// or end at one date are on one side of every choice, even if rounding tells their dates apart:
/// engines agree. Capacities and demands are those of the graph, whatever changes while it runs,
/// and demands are counted in whole bytes a second, so that sums do not depend on the order.
class RouteChooser {
 public:
  /// Between round numbers, as latencies and their differences are.
  static constexpr double kWindow_s = 0.4873e-9;
  static_assert(kWindow_s < TransferGraph::kRouteChoice_s);

  /// `graph` must outlive the runs. Only for graphs that are adaptive().
  void load(const TransferGraph& graph);
  void reset();

  /// A firing of `node` starts. True if that opens a window: choose() is due kWindow_s later.
  [[nodiscard]] bool started(TransferId node) { return counts(node) && count(node); }
  /// It is done.
  void done(TransferId node) {
    if (counts(node)) leave(node);
  }
  /// The window closes: makes the choices, and calls chosen(node, way) for each.
  template <class OnChoice>
  void choose(OnChoice&& chosen);

  /// The way that the running firing of a node takes, after its choice; 0 if it has none.
  [[nodiscard]] std::int32_t way_of(TransferId node) const { return way_[at(node)]; }

 private:
  struct Link {
    std::int64_t demand_Bps = 0;
    double capacity_Bps = 0;
  };
  struct Route {
    double narrowest_Bps = 0;  ///< capacity of its narrowest link
    bool contested = false;    ///< has it a link that a flow with a choice may take?
  };
  [[nodiscard]] bool counts(TransferId node) const {
    const std::int32_t route = graph_->route_of(node);
    return route >= 0 && routes_[at(route)].contested && graph_->bytes(node) > 0;
  }
  [[nodiscard]] std::int64_t demand_Bps(TransferId node) const;
  bool count(TransferId node);
  void leave(TransferId node);
  void add_demand(std::span<const std::int32_t> links, std::int64_t demand_Bps);
  void add_demand(std::int32_t route, std::int32_t way, std::int64_t demand_Bps);
  [[nodiscard]] double greatest_load(std::span<const std::int32_t> links, double demand_Bps) const;
  [[nodiscard]] std::int32_t best(std::int32_t route, double demand_Bps) const;
  void sort_waiting();
  std::int32_t take(TransferId node);

  const TransferGraph* graph_ = nullptr;
  std::vector<Link> links_;
  std::vector<Route> routes_;
  std::vector<std::uint16_t> way_;   ///< by node
  std::vector<TransferId> waiting_;  ///< started in the window that is open
};

template <class OnChoice>
void RouteChooser::choose(OnChoice&& chosen) {
  sort_waiting();
  for (const TransferId node : waiting_) chosen(node, take(node));
  waiting_.clear();
}

}  // namespace cclgym
