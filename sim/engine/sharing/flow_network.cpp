#include "sim/engine/sharing/flow_network.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace cclgym {

namespace {

// Settlings for which a wide link is solved by solve_around() before its flows are gathered again.
// Gathering them in vain costs as much as solving around one of them.
constexpr std::uint8_t kStaysWide = 200;

}  // namespace

void FlowNetwork::load(const TransferGraph& graph) {
  graph_ = &graph;
  const auto capacities = graph.link_capacities_Bps();
  links_.clear();
  for (const double capacity_Bps : capacities) {
    links_.push_back({capacity_Bps, 0, 0, 0, 0, 0, kNone, 0, false});
  }
  narrowest_Bps_.clear();
  routes_of_link_begin_.clear();
  changed_ = false;
  hops_per_slot_ = 0;
  std::vector<std::size_t> longest_way(at(graph.way_sets()), 0);
  for (std::int32_t route = 0; route < graph.routes(); ++route) {
    const auto links = graph.route_links(route);
    narrowest_Bps_.push_back(bound_Bps(links, kNoRateCap));
    std::size_t hops = links.size();
    const TransferGraph::Choice choice = graph.choice(route);
    if (choice.ways >= 0) {
      std::size_t& longest = longest_way[at(choice.ways)];
      const std::int32_t ways = longest == 0 ? graph.ways(route) : 0;
      for (std::int32_t way = 1; way < ways; ++way) {
        longest = std::max(longest, graph.way_links(choice, way).size());
      }
      hops = std::max(hops, hops - at(choice.count) + longest);
    }
    hops_per_slot_ = std::max(hops_per_slot_, static_cast<std::int32_t>(hops));
  }
  find_limiting_links();
  hops_.clear();
  reset();
}

void FlowNetwork::find_limiting_links() {
  // Flows may cross links outside their routes; loads are not compared.
  if (graph_->adaptive() || graph_->loaded()) {
    limiting_begin_.clear();
    return;
  }
  // Links that all routes over a link also cross and that are not faster. A few are enough.
  struct Stricter {
    std::array<std::int32_t, 4> links{};
    std::size_t count = 0;
    bool seen = false;
  };
  std::vector<Stricter> stricter(links_.size());
  std::vector<std::int32_t> last_route(links_.size(), kNone);
  for (std::int32_t route = 0; route < graph_->routes(); ++route) {
    const auto on_route = graph_->route_links(route);
    for (const std::int32_t id : on_route) {
      last_route[at(id)] = route;
    }
    for (const std::int32_t id : on_route) {
      Stricter& known = stricter[at(id)];
      if (known.seen) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < known.count; ++i) {
          if (last_route[at(known.links[i])] == route) {
            known.links[left++] = known.links[i];
          }
        }
        known.count = left;
        continue;
      }
      known.seen = true;
      for (const std::int32_t other : on_route) {
        const bool less =
            std::pair(link(other).capacity_Bps, other) < std::pair(link(id).capacity_Bps, id);
        if (less && known.count < known.links.size()) {
          known.links[known.count++] = other;
        }
      }
    }
  }
  limiting_begin_.assign(1, 0);
  limiting_links_.clear();
  for (std::int32_t route = 0; route < graph_->routes(); ++route) {
    for (const std::int32_t id : graph_->route_links(route)) {
      if (stricter[at(id)].count == 0) {
        limiting_links_.push_back(id);
      }
    }
    limiting_begin_.push_back(limiting_links_.size());
  }
}

void FlowNetwork::reset(bool capacities_change) {
  capacities_change_ = capacities_change;
  if (changed_) {
    restore_capacities();
  }
  for (Link& link : links_) {
    link.demand_Bps = 0;
    link.flows = 0;
    link.load = 0;
    link.first_hop = kNone;
    link.dirty = false;
    link.known_wide = 0;
  }
  dirty_.clear();
  fresh_.clear();
  touched_.clear();
}

void FlowNetwork::next_epoch() {
  if (++epoch_ == 0) {
    for (Link& link : links_) {
      link.mark = 0;
    }
    slots_.clear_marks();
    epoch_ = 1;
  }
}

void FlowNetwork::make_dirty(std::int32_t id) {
  if (!link(id).dirty) {
    link(id).dirty = true;
    dirty_.push_back(id);
  }
}

void FlowNetwork::add(FlowSlotId slot, std::span<const std::int32_t> route_links,
                      std::span<const std::int32_t> loads) {
  FlowSlot& flow = slots_[slot];
  flow.hops = static_cast<std::int32_t>(route_links.size());
  flow.rate_Bps = 0;
  fresh_.push_back(slot);
  std::int32_t id = first_hop_of(slot);
  if (hops_.size() < at(id + hops_per_slot_)) {
    hops_.resize(at(id + hops_per_slot_));
  }
  if (limit_.size() <= at(slot)) {
    limit_.resize(at(slot) + 1);
  }
  limit_[at(slot)] = kFresh;
  for (std::size_t i = 0; i < route_links.size(); ++i) {
    const std::int32_t link_id = route_links[i];
    const std::int32_t load = loads.empty() ? 1 : loads[i];
    Link& entered = link(link_id);
    hop(id) = {entered.first_hop, kNone, link_id, slot, load};
    if (entered.first_hop != kNone) {
      hop(entered.first_hop).previous = id;
    }
    entered.first_hop = id;
    ++entered.flows;
    entered.load += load;
    entered.demand_Bps += flow.bound_Bps * load;
    if (entered.can_saturate()) {
      make_dirty(link_id);
    }
    ++id;
  }
}

void FlowNetwork::remove(FlowSlotId slot) {
  const FlowSlot& flow = slots_[slot];
  const std::int32_t first = first_hop_of(slot);
  for (std::int32_t id = first; id < first + flow.hops; ++id) {
    const Hop& gone = hop(id);
    Link& left = link(gone.link);
    (gone.previous == kNone ? left.first_hop : hop(gone.previous).next) = gone.next;
    if (gone.next != kNone) {
      hop(gone.next).previous = gone.previous;
    }
    const bool could_saturate = left.can_saturate();
    left.load -= gone.load;
    if (--left.flows == 0) {
      left.demand_Bps = 0;  // discards the rounding errors of earlier sums
    } else {
      left.demand_Bps -= flow.bound_Bps * gone.load;
      if (could_saturate) {
        make_dirty(gone.link);
      }
    }
  }
}

double FlowNetwork::bound_Bps(std::span<const std::int32_t> links, double rate_cap_Bps) const {
  for (const std::int32_t id : links) {
    rate_cap_Bps = std::min(rate_cap_Bps, links_[at(id)].capacity_Bps);
  }
  return rate_cap_Bps;
}

const std::vector<FlowSlotId>& FlowNetwork::settle() {
  touched_.clear();
  next_epoch();
  for (const std::int32_t id : dirty_) {
    visit_dirty(id);
  }
  dirty_.clear();
  if (!wide_links_.empty() || !wide_flows_.empty()) {
    solve_around();
  }
  for (const FlowSlotId slot : fresh_) {
    give_bound(slot);
  }
  fresh_.clear();
  return touched_;
}

// Gives a flow its bound as rate unless it has a new rate already; no link constrains the flow.
void FlowNetwork::give_bound(FlowSlotId slot) {
  FlowSlot& flow = slots_[slot];
  if (flow.mark != epoch_) {
    flow.mark = epoch_;
    flow.target_Bps = flow.bound_Bps;
    limit_[at(slot)] = kNone;
    touched_.push_back(slot);
  }
}

void FlowNetwork::visit_dirty(std::int32_t id) {
  link(id).dirty = false;
  if (link(id).mark == epoch_) {
    return;
  }
  if (link(id).can_saturate()) {
    solve_component(id);
    return;
  }
  // The link no longer constrains its flows; other links may still constrain each of them.
  for (std::int32_t on = link(id).first_hop; on != kNone; on = hop(on).next) {
    const FlowSlotId slot = hop(on).slot;
    FlowSlot& flow = slots_[slot];
    const std::int32_t first = first_hop_of(slot);
    bool constrained = false;
    for (std::int32_t other = first; flow.mark != epoch_ && other < first + flow.hops; ++other) {
      if (link(hop(other).link).can_saturate()) {
        constrained = true;
        solve_component(hop(other).link);
      }
    }
    if (!constrained) {
      give_bound(slot);
    } else if (flow.mark != epoch_) {
      wide_flows_.push_back(slot);
    }
  }
}

void FlowNetwork::solve_component(std::int32_t start) {
  const std::size_t first_flow = touched_.size();
  if (link(start).known_wide > 0) {
    --link(start).known_wide;
    wide_links_.push_back(start);
    return;
  }
  if (!wide_links_.empty()) {
    wide_links_.push_back(start);
    return;
  }
  component_.assign(1, start);
  link(start).mark = epoch_;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    if (touched_.size() - first_flow > wide_) {
      leave_wide(start, first_flow);
      return;
    }
    Link& reached = link(component_[i]);
    reached.left_Bps = reached.capacity_Bps;
    reached.open = reached.load;
    for (std::int32_t on = reached.first_hop; on != kNone; on = hop(on).next) {
      const FlowSlotId slot = hop(on).slot;
      FlowSlot& flow = slots_[slot];
      if (flow.mark == epoch_) {
        continue;
      }
      flow.mark = epoch_;
      flow.target_Bps = -1;
      touched_.push_back(slot);
      const std::int32_t first = first_hop_of(slot);
      for (std::int32_t other = first; other < first + flow.hops; ++other) {
        Link& neighbour = link(hop(other).link);
        if (neighbour.mark != epoch_ && neighbour.can_saturate()) {
          neighbour.mark = epoch_;
          component_.push_back(hop(other).link);
        }
      }
    }
  }
  const std::span<const FlowSlotId> flows(touched_.data() + first_flow,
                                          touched_.size() - first_flow);
  if (component_.size() != 1 || !fill_single_link(flows)) {
    fill();
  }
}

// Undoes the gathering of flows: those from index `first_flow` on in touched_, and the links of
// component_.
void FlowNetwork::leave_wide(std::int32_t start, std::size_t first_flow) {
  for (const std::int32_t id : component_) {
    link(id).mark = epoch_ - 1;
    link(id).known_wide = kStaysWide;
  }
  for (std::size_t i = first_flow; i < touched_.size(); ++i) {
    slots_[touched_[i]].mark = epoch_ - 1;
    slots_[touched_[i]].target_Bps = slots_[touched_[i]].rate_Bps;
  }
  touched_.resize(first_flow);
  wide_links_.push_back(start);
}

bool FlowNetwork::fill_single_link(std::span<const FlowSlotId> flows) {
  const Link& shared = link(component_.front());
  const double share_Bps = shared.capacity_Bps / static_cast<double>(shared.load);
  for (const FlowSlotId slot : flows) {
    if (slots_[slot].bound_Bps < share_Bps) {
      return false;
    }
  }
  for (const FlowSlotId slot : flows) {
    slots_[slot].target_Bps = share_Bps;
    limit_[at(slot)] = component_.front();
  }
  return true;
}

void FlowNetwork::fill() {
  // The link with the smallest fair share is the next bottleneck. Shares only grow while flows get
  // their rates, so an outdated entry is too low: it is reinserted when it is popped.
  heap_.clear();
  for (const std::int32_t id : component_) {
    if (link(id).open > 0) {
      heap_.emplace_back(link(id).left_Bps / static_cast<double>(link(id).open), id);
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    const auto [stored_Bps, id] = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    if (link(id).open == 0) {
      continue;
    }
    const double share_Bps = link(id).left_Bps / static_cast<double>(link(id).open);
    if (share_Bps <= stored_Bps || heap_.empty() || share_Bps <= heap_.front().first) {
      fill_link(id, share_Bps);
    }
    if (link(id).open > 0) {
      heap_.emplace_back(link(id).left_Bps / static_cast<double>(link(id).open), id);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
}

void FlowNetwork::fill_link(std::int32_t id, double share_Bps) {
  // Flows that cannot use their share leave more to the others, so they are served first.
  bool bounded = false;
  for (std::int32_t on = link(id).first_hop; on != kNone; on = hop(on).next) {
    const FlowSlot& flow = slots_[hop(on).slot];
    if (flow.target_Bps < 0 && flow.bound_Bps < share_Bps) {
      fix(hop(on).slot, flow.bound_Bps, kNone);
      bounded = true;
    }
  }
  for (std::int32_t on = link(id).first_hop; !bounded && on != kNone; on = hop(on).next) {
    if (slots_[hop(on).slot].target_Bps < 0) {
      fix(hop(on).slot, share_Bps, id);
    }
  }
}

void FlowNetwork::fix(FlowSlotId slot, double rate_Bps, std::int32_t limit) {
  FlowSlot& flow = slots_[slot];
  flow.target_Bps = rate_Bps;
  limit_[at(slot)] = limit;
  const std::int32_t first = first_hop_of(slot);
  for (std::int32_t on = first; on < first + flow.hops; ++on) {
    Link& passed = link(hop(on).link);
    if (passed.can_saturate()) {
      passed.left_Bps -= rate_Bps * hop(on).load;
      passed.open -= hop(on).load;
    }
  }
}

}  // namespace cclgym
