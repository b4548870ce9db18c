// Links whose capacity changes while flows use them.
#include <algorithm>
#include <numeric>

#include "sim/engine/sharing/flow_network.hpp"

namespace cclgym {

void FlowNetwork::restore_capacities() {
  const auto capacities = graph_->link_capacities_Bps();
  for (std::size_t id = 0; id < links_.size(); ++id) {
    links_[id].capacity_Bps = capacities[id];
  }
  for (std::int32_t route = 0; route < graph_->routes(); ++route) {
    narrowest_Bps_[at(route)] = bound_Bps(graph_->route_links(route), kNoRateCap);
  }
  changed_ = false;
}

void FlowNetwork::find_routes_of_links() {
  routes_of_link_begin_.assign(links_.size() + 1, 0);
  for (std::int32_t route = 0; route < graph_->routes(); ++route) {
    for (const std::int32_t id : graph_->route_links(route)) {
      ++routes_of_link_begin_[at(id) + 1];
    }
  }
  std::partial_sum(routes_of_link_begin_.begin(), routes_of_link_begin_.end(),
                   routes_of_link_begin_.begin());
  routes_of_links_.resize(routes_of_link_begin_.back());
  std::vector<std::size_t> next(routes_of_link_begin_.begin(), routes_of_link_begin_.end() - 1);
  for (std::int32_t route = 0; route < graph_->routes(); ++route) {
    for (const std::int32_t id : graph_->route_links(route)) {
      routes_of_links_[next[at(id)]++] = route;
    }
  }
}

void FlowNetwork::set_capacity(std::int32_t id, double capacity_Bps) {
  if (link(id).capacity_Bps == capacity_Bps) {
    return;
  }
  if (routes_of_link_begin_.empty()) {
    find_routes_of_links();
  }
  changed_ = true;
  const bool could_saturate = link(id).can_saturate();
  link(id).capacity_Bps = capacity_Bps;
  for (std::size_t i = routes_of_link_begin_[at(id)]; i < routes_of_link_begin_[at(id) + 1]; ++i) {
    const std::int32_t route = routes_of_links_[i];
    narrowest_Bps_[at(route)] = bound_Bps(graph_->route_links(route), kNoRateCap);
  }
  for (std::int32_t on = link(id).first_hop; on != kNone; on = hop(on).next) {
    const FlowSlotId slot = hop(on).slot;
    FlowSlot& flow = slots_[slot];
    double bound_Bps = graph_->rate_cap_Bps(flow.node);
    const std::int32_t first = first_hop_of(slot);
    for (std::int32_t other = first; other < first + flow.hops; ++other) {
      bound_Bps = std::min(bound_Bps, link(hop(other).link).capacity_Bps);
    }
    if (bound_Bps == flow.bound_Bps) {
      continue;
    }
    for (std::int32_t other = first; other < first + flow.hops; ++other) {
      Link& passed = link(hop(other).link);
      const bool could = passed.can_saturate();
      passed.demand_Bps += bound_Bps - flow.bound_Bps;
      if (could || passed.can_saturate()) {
        make_dirty(hop(other).link);
      }
    }
    flow.bound_Bps = bound_Bps;
    limit_[at(slot)] = kFresh;
    fresh_.push_back(slot);
  }
  if (could_saturate || link(id).can_saturate()) {
    make_dirty(id);
  }
}

}  // namespace cclgym
