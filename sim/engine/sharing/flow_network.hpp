// Max-min fair rates of the flows in flight, updated as flows come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/sharing/flow_slots.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Shares link capacities among flows max-min fairly, each flow bounded by its cap. Links that
/// cannot saturate are left out of every solve, and a change solves only the flows that it can
/// affect (docs/architecture.md, "Max-min rates").
class FlowNetwork {
 public:
  /// `wide`: max number of joined flows that are all solved again when one of them changes.
  explicit FlowNetwork(FlowSlots& slots, std::size_t wide = 128) : slots_(slots), wide_(wide) {}

  /// `graph` must outlive the runs.
  void load(const TransferGraph& graph);
  /// Forgets all flows; every link has the graph's capacity again. `capacities_change`: true if
  /// set_capacity will be called.
  void reset(bool capacities_change = false);

  /// Links of a route that can limit a flow, to be passed to `add`: excludes links whose flows all
  /// cross another link that is not faster.
  [[nodiscard]] std::span<const std::int32_t> limiting_links(std::int32_t route) const {
    if (capacities_change_ || limiting_begin_.empty()) return graph_->route_links(route);
    const std::size_t begin = limiting_begin_[at(route)];
    return {limiting_links_.data() + begin, limiting_begin_[at(route) + 1] - begin};
  }

  /// Rate of a flow on this route when nothing is shared; infinite on an empty route without a cap.
  [[nodiscard]] double bound_Bps(std::int32_t route, double rate_cap_Bps) const {
    const double narrowest = narrowest_Bps_[at(route)];
    return rate_cap_Bps < narrowest ? rate_cap_Bps : narrowest;
  }

  /// Rate of a flow on these links when nothing is shared.
  [[nodiscard]] double bound_Bps(std::span<const std::int32_t> links, double rate_cap_Bps) const;

  /// The flow in `slot` (with bound_Bps set) begins to move bytes. `loads` has the format of
  /// TransferGraph::route_loads.
  void add(FlowSlotId slot, std::span<const std::int32_t> route_links,
           std::span<const std::int32_t> loads = {});
  /// The flow in `slot` is done.
  void remove(FlowSlotId slot);
  /// Changes the capacity of a link from now on.
  void set_capacity(std::int32_t link, double capacity_Bps);

  /// Computes the rates after all additions and removals since the last call. Returns the flows
  /// whose rate may have changed, in a fixed order; the rate is in FlowSlot::target_Bps.
  const std::vector<FlowSlotId>& settle();

 private:
  struct Link {
    double capacity_Bps;
    double demand_Bps;  ///< sum of the bounds of its flows, weighted by load
    double left_Bps;    ///< unassigned capacity while filling
    std::int32_t open;  ///< load of the flows without a rate yet, while filling
    std::int32_t flows;
    std::int32_t load;  ///< total load of its flows
    std::int32_t first_hop;
    std::uint32_t mark;
    bool dirty;
    std::uint8_t known_wide = 0;  ///< number of settlings for which the link stays wide
    [[nodiscard]] bool can_saturate() const { return demand_Bps > capacity_Bps; }
  };
  /// One flow on one link, in the link's list of flows.
  struct Hop {
    std::int32_t next;
    std::int32_t previous;
    std::int32_t link;
    FlowSlotId slot;
    std::int32_t load;
  };
  static constexpr std::int32_t kFresh = -2;  ///< value in limit_ for flows with a new bound
  Link& link(std::int32_t id) { return links_[at(id)]; }
  Hop& hop(std::int32_t id) { return hops_[at(id)]; }
  [[nodiscard]] std::int32_t first_hop_of(FlowSlotId slot) const { return slot * hops_per_slot_; }
  void find_limiting_links();
  void find_routes_of_links();
  void restore_capacities();
  void next_epoch();
  void make_dirty(std::int32_t id);
  void visit_dirty(std::int32_t id);
  /// Gathers and solves all flows joined to `start` by links that can saturate; leaves them to
  /// solve_around if there are too many.
  void solve_component(std::int32_t start);
  void leave_wide(std::int32_t start, std::size_t first_flow);
  void give_bound(FlowSlotId slot);
  void fill();
  bool fill_single_link(std::span<const FlowSlotId> flows);
  void fill_link(std::int32_t id, double share_Bps);
  void fix(FlowSlotId slot, double rate_Bps, std::int32_t limit);
  // Defined in sim/engine/sharing/flow_network_wide.cpp:
  /// Solves the flows limited by wide_links_, and those affected in turn.
  void solve_around();
  void activate(FlowSlotId slot);
  void open_active_links();
  void find_concerned(std::int32_t id);

  FlowSlots& slots_;
  std::size_t wide_;
  const TransferGraph* graph_ = nullptr;
  bool changed_ = false;  ///< true if capacities have changed since the last reset
  std::vector<Link> links_;
  std::vector<Hop> hops_;
  std::int32_t hops_per_slot_ = 0;
  bool capacities_change_ = false;
  std::vector<std::size_t> limiting_begin_;  ///< by route
  std::vector<std::int32_t> limiting_links_;
  std::vector<double> narrowest_Bps_;              ///< by route
  std::vector<std::size_t> routes_of_link_begin_;  ///< by link; empty until a capacity changes
  std::vector<std::int32_t> routes_of_links_;
  std::uint32_t epoch_ = 0;
  std::vector<std::int32_t> dirty_;
  std::vector<FlowSlotId> fresh_;  ///< flows with a new bound since the last settling
  std::vector<FlowSlotId> touched_;
  std::vector<std::int32_t> component_;
  std::vector<std::int32_t> limit_;  ///< by slot: limiting link; kNone if only its bound limits it
  std::vector<std::int32_t> wide_links_;  ///< dirty links that join more than wide_ flows
  std::vector<FlowSlotId> wide_flows_;    ///< flows whose limiting link may no longer limit them
  std::vector<FlowSlotId> concerned_;
  std::vector<std::pair<double, std::int32_t>> heap_;  ///< (fair share, link), smallest first
};

}  // namespace cclgym
