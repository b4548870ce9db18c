// Max-min rates where links join very many flows: solves only what changes.
//
// *Active* flows get new rates by progressive filling of the capacity that the other flows, which
// keep their rates, leave free. The result is max-min fair for all if every other flow still has
// its limit: its bound, or a full link on which no flow is faster (Bertsekas and Gallager, section
// 6.5.2: exactly one allocation has this property). A flow without a limit becomes active too, and
// all active flows are filled again. A change of one flow usually affects only its neighbours.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/engine/flow_network.hpp"

namespace cclgym {

namespace {

// Rates whose relative difference is below this are equal; a link with less than this share of its
// capacity left is full.
constexpr double kAlike = 1e-13;

}  // namespace

void FlowNetwork::solve_around() {
  const std::size_t first_flow = touched_.size();
  component_.clear();
  for (const std::int32_t id : wide_links_) {
    if (link(id).mark != epoch_) {
      link(id).mark = epoch_;
      component_.push_back(id);
    }
  }
  const std::size_t dirty = component_.size();
  for (std::size_t i = 0; i < dirty; ++i) {
    const std::int32_t id = component_[i];
    for (std::int32_t on = link(id).first_hop; on != kNone; on = hop(on).next) {
      const std::int32_t limit = limit_[at(hop(on).slot)];
      if (limit == id || limit == kFresh) {
        activate(hop(on).slot);
      }
    }
  }
  for (const FlowSlotId slot : wide_flows_) {
    activate(slot);
  }
  wide_links_.clear();
  wide_flows_.clear();
  for (bool settled = false; !settled;) {
    open_active_links();
    fill();
    concerned_.clear();
    for (const std::int32_t id : component_) {
      find_concerned(id);
    }
    for (const FlowSlotId slot : concerned_) {
      activate(slot);
    }
    settled = concerned_.empty();
  }
  // Otherwise rounding would move the events of unaffected flows.
  for (std::size_t i = first_flow; i < touched_.size(); ++i) {
    FlowSlot& flow = slots_[touched_[i]];
    if (std::abs(flow.target_Bps - flow.rate_Bps) <= 0.1 * kAlike * flow.rate_Bps) {
      flow.target_Bps = flow.rate_Bps;
    }
  }
}

void FlowNetwork::activate(FlowSlotId slot) {
  FlowSlot& flow = slots_[slot];
  if (flow.mark == epoch_) {
    return;
  }
  flow.mark = epoch_;
  flow.target_Bps = flow.bound_Bps;  // if no link constrains it
  limit_[at(slot)] = kNone;
  touched_.push_back(slot);
  const std::int32_t first = first_hop_of(slot);
  for (std::int32_t on = first; on < first + flow.hops; ++on) {
    Link& passed = link(hop(on).link);
    if (passed.mark != epoch_ && passed.can_saturate()) {
      passed.mark = epoch_;
      component_.push_back(hop(on).link);
    }
  }
}

/// Computes the capacity that the other flows leave on each link. If they exceed it, they become
/// active.
void FlowNetwork::open_active_links() {
  for (std::size_t i = 0; i < component_.size(); ++i) {
    Link& shared = link(component_[i]);
    shared.left_Bps = shared.capacity_Bps;
    shared.open = 0;
    for (std::int32_t on = shared.first_hop; on != kNone; on = hop(on).next) {
      FlowSlot& flow = slots_[hop(on).slot];
      if (flow.mark == epoch_) {
        flow.target_Bps = -1;
        shared.open += hop(on).load;
      } else {
        shared.left_Bps -= flow.target_Bps * hop(on).load;
      }
    }
    if (shared.left_Bps >= 0) {
      continue;
    }
    if (shared.left_Bps < -kAlike * shared.capacity_Bps) {
      for (std::int32_t on = shared.first_hop; on != kNone; on = hop(on).next) {
        activate(hop(on).slot);
      }
      i = static_cast<std::size_t>(-1);  // from the beginning
      continue;
    }
    shared.left_Bps = 0;
  }
}

/// Flows of a link that have lost their limit, or are faster than flows that the link now limits.
void FlowNetwork::find_concerned(std::int32_t id) {
  const Link& shared = link(id);
  double most_Bps = 0;  // maximum rate of an active flow
  double limited_Bps = std::numeric_limits<double>::infinity();
  std::int32_t others = 0;
  for (std::int32_t on = shared.first_hop; on != kNone; on = hop(on).next) {
    const FlowSlot& flow = slots_[hop(on).slot];
    if (flow.mark != epoch_) {
      ++others;
      continue;
    }
    most_Bps = std::max(most_Bps, flow.target_Bps);
    if (limit_[at(hop(on).slot)] == id) {
      limited_Bps = std::min(limited_Bps, flow.target_Bps);
    }
  }
  const bool full = shared.left_Bps <= kAlike * shared.capacity_Bps;
  for (std::int32_t on = shared.first_hop; others > 0 && on != kNone; on = hop(on).next) {
    const FlowSlotId slot = hop(on).slot;
    const FlowSlot& flow = slots_[slot];
    if (flow.mark == epoch_) {
      continue;
    }
    --others;
    const bool freed =
        limit_[at(slot)] == id && (!full || most_Bps > flow.target_Bps * (1 + kAlike));
    if (freed || flow.target_Bps > limited_Bps * (1 + kAlike)) {
      concerned_.push_back(slot);
    }
  }
}

}  // namespace cclgym
