// The rule, shared by all engines, by which a flow chooses one of its alternative routes.
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
/// hops is smaller there than on its minimal route. A queue grows where more flows onto a link than
/// it carries. Here:
/// carries, so that here:
/// * The *demand* of a flow is its rate alone on its own route (alternative 0). It counts on every
///   link that the flow takes, from the choice (without a choice: from the start of the firing)
///   until the firing is done.
/// * The *load* of a link, as seen by a flow, is the demand on it, including the flow's own, over
///   its capacity.
/// * The links that all alternatives have in common (to the first switch, from the last) cannot be
///   avoided. Their allowance is the maximum of 1 and their loads: a flow that waits there has no
///   queue elsewhere.
/// * The *cost* of an alternative is max(0, maximum load of its links - allowance) x number of its
///   links. The flow takes the cheapest; ties go to the first.
///
/// The first firing with a choice opens a window of kWindow_s. All that start within it choose when
/// it closes, one after another in the order of their nodes, each seeing the choices before it. No
/// flow moves bytes before (TransferGraph::kRouteChoice_s). Flows that start or end at one date are
/// therefore on the same side of every choice even if rounding separates their dates, so engines
/// agree. Capacities and demands are those of the graph, regardless of changes during the run, and
/// demands are whole bytes per second, so that sums do not depend on their order.
class RouteChooser {
 public:
  /// Between round values, which latencies and their differences usually have.
  static constexpr double kWindow_s = 0.4873e-9;
  static_assert(kWindow_s < TransferGraph::kRouteChoice_s);

  /// `graph` must outlive the runs. Only for graphs that are adaptive().
  void load(const TransferGraph& graph);
  void reset();

  /// A firing of `node` starts. True if that opens a window: choose() is due kWindow_s later.
  [[nodiscard]] bool started(TransferId node) { return counts(node) && count(node); }
  /// The firing of `node` is done.
  void done(TransferId node) {
    if (counts(node)) leave(node);
  }
  /// Closes the window: makes the choices, and calls chosen(node, way) for each.
  template <class OnChoice>
  void choose(OnChoice&& chosen);

  /// Alternative that the current firing of a node takes, once chosen; 0 if it has no choice.
  [[nodiscard]] std::int32_t way_of(TransferId node) const { return way_[at(node)]; }

 private:
  struct Link {
    std::int64_t demand_Bps = 0;
    double capacity_Bps = 0;
  };
  struct Route {
    double narrowest_Bps = 0;  ///< capacity of its narrowest link
    bool contested = false;    ///< true if a flow with a choice may take one of its links
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
  std::vector<TransferId> waiting_;  ///< started in the open window
};

template <class OnChoice>
void RouteChooser::choose(OnChoice&& chosen) {
  sort_waiting();
  for (const TransferId node : waiting_) chosen(node, take(node));
  waiting_.clear();
}

}  // namespace cclgym
