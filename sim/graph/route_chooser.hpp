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
/// Load-Balanced Routing in Interconnection Networks, 2005). A firing with a choice waits for the
/// end of a window of kWindow_s; then all firings in the window choose, one after another in the
/// order of their nodes, the alternative with the minimum cost. docs/fabrics.md, "The rule of
/// adaptive routes", defines demand, load and cost, and gives the reasons for the window.
class RouteChooser {
 public:
  /// Lies between the round values that latencies and their differences usually have.
  static constexpr double kWindow_s = 0.4873e-9;
  static_assert(kWindow_s < TransferGraph::kRouteChoice_s);

  /// `graph` must be adaptive() and outlive the runs.
  void load(const TransferGraph& graph);
  void reset();

  /// Reports the start of a firing. True if it opens a window: choose() is due kWindow_s later.
  [[nodiscard]] bool started(TransferId node) { return counts(node) && count(node); }
  /// Reports the end of a firing.
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
  std::vector<TransferId> waiting_;  ///< nodes that started in the open window
};

template <class OnChoice>
void RouteChooser::choose(OnChoice&& chosen) {
  sort_waiting();
  for (const TransferId node : waiting_) chosen(node, take(node));
  waiting_.clear();
}

}  // namespace cclgym
