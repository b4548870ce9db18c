// Which of its alternative routes a flow takes: the one rule that every engine follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/transfer_graph.hpp"

namespace cclgym {

/// Adaptive routing in the manner of UGAL (Universal Globally Adaptive Load-balancing; Singh,
/// Load-Balanced Routing in Interconnection Networks, 2005): a packet takes a detour if queue times
/// hops is less there than on its minimal way. A queue grows where more flows onto a link than it
/// carries, so that here:
///
/// * The *demand* of a flow is the rate that it could move at by itself on its preferred route. It
///   counts on every link of the flow's route from the choice on (if it has none: from the start of
///   the firing) until the firing is done.
/// * The *load* of a link, seen by a flow, is the demand on it, that of the flow included, over its
///   capacity.
/// * Links that all candidates share (to the first switch, from the last) cannot be avoided. What
///   they allow is the greatest of 1 and their loads: a flow that waits there has no queue
///   elsewhere.
/// * The *cost* of a candidate is (greatest load of its other links - what the shared ones allow,
///   or 0 if that is less) x number of its other links. The flow takes the candidate of the least
///   cost; of equals the first, with the preferred route before its alternatives.
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
  [[nodiscard]] bool started(TransferId node) {
    if (!counted_[index(node)]) return false;
    return count(node);
  }
  /// It is done.
  void done(TransferId node) {
    if (counted_[index(node)]) leave(node);
  }
  /// The window closes: makes the choices, and calls chosen(node, route) for each.
  template <class OnChoice>
  void choose(OnChoice&& chosen);

  /// The route that the running firing of a node takes; of a flow that has alternatives only after
  /// its choice. -1 for a delay.
  [[nodiscard]] std::int32_t route_of(TransferId node) const { return route_[index(node)]; }
  /// route_of by node; valid until another graph is loaded.
  [[nodiscard]] std::span<const std::int32_t> routes() const { return route_; }

 private:
  struct Link {
    std::int64_t demand_Bps = 0;
    double capacity_Bps = 0;
    bool contested = false;  ///< lies on a route with alternatives, or on one of these
  };
  /// A route with alternatives.
  struct Choice {
    std::vector<std::int32_t> routes;  ///< the preferred one first
    std::vector<std::int32_t> shared;  ///< links on all of them
    std::vector<std::int32_t> own;     ///< the others, route after route
    std::vector<std::size_t> own_end;  ///< by route: where its links end in `own`
  };
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  static Choice choice_of(const TransferGraph& graph, std::int32_t route);
  bool count(TransferId node);
  void leave(TransferId node);
  void add_demand(std::int32_t route, std::int64_t demand_Bps);
  [[nodiscard]] double greatest_load(std::span<const std::int32_t> links, double demand_Bps) const;
  [[nodiscard]] std::int32_t best(const Choice& choice, double demand_Bps) const;
  void sort_waiting();
  std::int32_t take(TransferId node);

  const TransferGraph* graph_ = nullptr;
  std::vector<Link> links_;
  std::vector<Choice> choices_;
  std::vector<std::int32_t> choice_of_route_;  ///< -1: no choice
  std::vector<std::int64_t> demand_Bps_;       ///< by node
  std::vector<std::uint8_t> counted_;          ///< by node: does it count on contested links?
  std::vector<std::int32_t> route_;            ///< by node
  std::vector<TransferId> waiting_;            ///< started in the window that is open
};

template <class OnChoice>
void RouteChooser::choose(OnChoice&& chosen) {
  sort_waiting();
  for (const TransferId node : waiting_) chosen(node, take(node));
  waiting_.clear();
}

}  // namespace cclgym
