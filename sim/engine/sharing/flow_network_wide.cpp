// Max-min rates of flows on links that join very many of them: solves only the flows whose rates
// change (docs/architecture.md, "Max-min rates").
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/engine/sharing/flow_network.hpp"

namespace cclgym {

namespace {

// Rates whose relative difference is below this are treated as equal; a link with less than this
// share of its capacity left is treated as full.
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
  // Keeps rates that changed only by rounding, so that the events of unaffected flows do not move.
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
  flow.target_Bps = flow.bound_Bps;  // remains the rate if no link constrains it
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

/// Computes the capacity that the other flows leave on each link. Where they exceed the link's
/// capacity, they become active too.
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
      i = static_cast<std::size_t>(-1);  // restarts the loop
      continue;
    }
    shared.left_Bps = 0;
  }
}

/// Finds the flows of a link that have lost their limit, or are faster than flows that the link now
/// limits.
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
