#include "sim/engine/firing_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/sharing/flow_calendar.hpp"
#include "sim/engine/sharing/flow_network.hpp"
#include "sim/engine/sharing/flow_slots.hpp"
#include "sim/graph/graph_stalled.hpp"

namespace cclgym {

class FiringRun::Events {
 public:
  Dates run(std::shared_ptr<const TransferGraph> graph, const FiringLatencies& latencies,
            CapacityProcess& capacities);

 private:
  void start(const OneFiring& firing);
  void begin_transfer(FlowSlotId slot);
  void handle_events();
  void handle(FlowSlotId slot);
  void change_capacities();
  void finish(const OneFiring& firing);
  void finish_instant_firings();
  void settle();
  FlowSlotId allocate(const OneFiring& firing);

  std::shared_ptr<const TransferGraph> graph_;
  const FiringLatencies* latencies_ = nullptr;
  FiringTracker tracker_;
  FlowSlots slots_;
  std::vector<std::int32_t> number_;  ///< by slot: number of the firing
  FlowCalendar calendar_{slots_};
  FlowNetwork network_{slots_};
  CapacityReader changes_;
  std::vector<OneFiring> instant_;  ///< done at now_s_, not yet reported
  std::vector<double> end_s_;
  double now_s_ = 0;
};

FiringRun::FiringRun() : events_(std::make_unique<Events>()) {}
FiringRun::~FiringRun() = default;

bool FiringRun::possible(const TransferGraph& graph) {
  return !graph.adaptive() && !graph.holding() && FiringTracker::fits(graph);
}

FiringRun::Dates FiringRun::run(std::shared_ptr<const TransferGraph> graph,
                                const FiringLatencies& latencies, CapacityProcess& capacities) {
  return events_->run(std::move(graph), latencies, capacities);
}

// The order of the steps is that of FlowEngine::run().
FiringRun::Dates FiringRun::Events::run(std::shared_ptr<const TransferGraph> graph,
                                        const FiringLatencies& latencies,
                                        CapacityProcess& capacities) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  graph_ = std::move(graph);
  latencies_ = &latencies;
  tracker_.load(graph_);
  network_.load(*graph_);
  end_s_.assign(at(graph_->size()), 0);
  now_s_ = 0;
  slots_.reset();
  calendar_.reset();
  network_.reset(true);
  changes_.start(&capacities, graph_->link_capacities_Bps().size());
  instant_.clear();
  tracker_.start_roots([this](const OneFiring& firing) { start(firing); });
  finish_instant_firings();
  change_capacities();
  settle();
  while (tracker_.left() > 0 && !calendar_.empty()) {
    const double change_s = changes_.any() ? changes_.pending().time_s : kNever;
    now_s_ = std::min(calendar_.next_date(), change_s);
    if (calendar_.next_date() == now_s_) handle_events();
    if (change_s <= now_s_) change_capacities();
    settle();
  }
  if (tracker_.left() > 0) throw GraphStalled("the transfer graph stalled", {});
  return {now_s_, end_s_};
}

FlowSlotId FiringRun::Events::allocate(const OneFiring& firing) {
  const FlowSlotId slot = slots_.allocate();
  if (number_.size() <= at(slot)) number_.resize(at(slot) + 1);
  slots_[slot].node = firing.node;
  number_[at(slot)] = firing.number;
  return slot;
}

void FiringRun::Events::start(const OneFiring& firing) {
  double latency_s = graph_->latency_s(firing.node);
  if (latencies_->differ(firing.node)) latency_s = latencies_->latency_s(firing, latency_s);
  if (latency_s > 0) {
    const FlowSlotId slot = allocate(firing);
    slots_[slot].hops = kNone;
    calendar_.add(slot, now_s_ + latency_s);
  } else if (graph_->bytes(firing.node) > 0) {
    begin_transfer(allocate(firing));
  } else {
    instant_.push_back(firing);
  }
}

void FiringRun::Events::begin_transfer(FlowSlotId slot) {
  FlowSlot& flow = slots_[slot];
  const double bytes = graph_->bytes(flow.node);
  if (bytes > 0) {
    const std::int32_t route = graph_->route_of(flow.node);
    flow.bound_Bps = network_.bound_Bps(route, graph_->rate_cap_Bps(flow.node));
    if (flow.bound_Bps < std::numeric_limits<double>::infinity()) {
      flow.bytes_left = bytes;
      flow.since_s = now_s_;
      flow.bucket = kNone;
      network_.add(slot, network_.limiting_links(route), graph_->route_loads(route));
      return;
    }
  }
  instant_.push_back({flow.node, number_[at(slot)]});
  slots_.release(slot);
}

void FiringRun::Events::handle_events() {
  do {
    handle(calendar_.pop());
  } while (!calendar_.empty() && calendar_.next_date() == now_s_);
}

void FiringRun::Events::handle(FlowSlotId slot) {
  while (slot != kNone) {
    const FlowSlotId next = slots_[slot].next;
    if (slots_[slot].hops == kNone) {
      begin_transfer(slot);
    } else {
      const OneFiring firing{slots_[slot].node, number_[at(slot)]};
      network_.remove(slot);
      slots_.release(slot);
      finish(firing);
    }
    finish_instant_firings();
    slot = next;
  }
}

void FiringRun::Events::change_capacities() {
  while (changes_.any() && changes_.pending().time_s <= now_s_) {
    network_.set_capacity(changes_.pending().link, changes_.pending().capacity_Bps);
    changes_.advance();
  }
}

void FiringRun::Events::finish(const OneFiring& firing) {
  if (firing.number + 1 == graph_->repeat(firing.node)) end_s_[at(firing.node)] = now_s_;
  tracker_.done(firing, [this](const OneFiring& ready) { start(ready); });
}

void FiringRun::Events::finish_instant_firings() {
  for (std::size_t i = 0; i < instant_.size(); ++i) finish(OneFiring(instant_[i]));
  instant_.clear();
}

void FiringRun::Events::settle() {
  for (const FlowSlotId slot : network_.settle()) {
    FlowSlot& flow = slots_[slot];
    if (flow.target_Bps == flow.rate_Bps) continue;
    if (flow.bucket == kNone) {
      flow.rate_Bps = flow.target_Bps;
      calendar_.add(slot, now_s_ + flow.bytes_left / flow.rate_Bps);
    } else {
      flow.bytes_left = std::max(0.0, flow.bytes_left - flow.rate_Bps * (now_s_ - flow.since_s));
      flow.since_s = now_s_;
      flow.rate_Bps = flow.target_Bps;
      calendar_.move(slot, now_s_ + flow.bytes_left / flow.rate_Bps);
    }
  }
}

}  // namespace cclgym
