#include "sim/engine/flow_engine.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/fixed_rates.hpp"
#include "sim/engine/sharing/flow_calendar.hpp"
#include "sim/engine/sharing/flow_network.hpp"
#include "sim/engine/sharing/flow_slots.hpp"
#include "sim/engine/sharing/latency_lanes.hpp"
#include "sim/engine/sharing/shared_links.hpp"
#include "sim/graph/dependency_tracker.hpp"
#include "sim/graph/route_chooser.hpp"

namespace cclgym {
namespace {

/// All events of one date are handled before new rates are computed, so that the many flows of a
/// symmetric collective that end and begin together cost one settling. Nothing is computed between
/// events: a flow's bytes are updated only when its rate changes.
class FlowEngine final : public Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "flow"; }

  void load(std::shared_ptr<const TransferGraph> graph) override {
    DependencyTracker::check(graph.get());
    graph_ = std::move(graph);
    fixed_.reset();
    loaded_ = dated_ = false;
  }

  EngineResult run(FiringObserver* observer, CapacityProcess* capacities) override {
    if (graph_ == nullptr) {
      throw std::logic_error("engine flow: run before load");
    }
    // A run by events needs neither the check nor the order of nodes of the other one.
    if (capacities == nullptr && (observer == nullptr || !observer->needs_order())) {
      if (!fixed_) fixed_ = fixed_rates_.load(*graph_);
      make_dates();
      if (*fixed_) {
        const double makespan_s = fixed_rates_.run(start_s_, end_s_, observer);
        return {makespan_s, start_s_, end_s_};
      }
    }
    if (!loaded_) load_events();
    make_dates();
    observer_ = observer;
    now_s_ = 0;
    noted_ = extras_ || observer_ != nullptr;
    in_flight_ = extras_ ? 0 : 1;
    choice_s_ = other_s_ = kNever;
    slots_.reset();
    calendar_.reset();
    network_.reset(capacities != nullptr);
    // All runs of a graph that can be run by dependencies have the same dates, bit for bit.
    const bool sharing = capacities == nullptr && shared_links_.any();
    if (sharing && !fixed_) fixed_ = fixed_rates_.load(*graph_);
    shared_links_.reset(sharing && !*fixed_);
    lanes_.reset(shared_links_.used());
    if (holding_) taken_.assign(graph_->link_capacities_Bps().size(), 0);
    changes_.start(capacities, graph_->link_capacities_Bps().size());
    if (adaptive_) route_chooser_.reset();
    instant_.clear();
    tracker_.reset();
    tracker_.start_roots([this](TransferId node) { extras_ ? start_noted(node) : start(node); });
    finish_instant_firings();
    change_capacities();
    settle();
    while (tracker_.left() > 0 && in_flight_ > 0) {
      const double next_s = next_date();
      if (next_s == kNever) break;
      now_s_ = next_s;
      if (other_s_ <= now_s_) {
        handle_other_events();
      } else {
        handle_events();
      }
      settle();
    }
    if (tracker_.left() > 0) {
      tracker_.throw_stalled();
    }
    return {now_s_, start_s_, end_s_};
  }

 private:
  /// Makes room for the dates. Other preparations of a run are made before, because they need
  /// memory that is free again by then.
  void make_dates() {
    if (dated_) return;
    start_s_.assign(at(graph_->size()), 0.0);
    end_s_.assign(start_s_.size(), 0.0);
    dated_ = true;
  }

  /// Prepares runs by events.
  void load_events() {
    tracker_.load(graph_);
    network_.load(*graph_);
    shared_links_.load(*graph_, network_);
    lanes_.load(*graph_);
    first_background_ = graph_->first_background();
    adaptive_ = graph_->adaptive();
    extras_ = adaptive_ || graph_->has_background();
    holding_ = graph_->holding();
    if (adaptive_) route_chooser_.load(*graph_);
    loaded_ = true;
  }

  [[nodiscard]] bool in_background(TransferId node) const { return node >= first_background_; }

  void start(TransferId node) {
    start_s_[at(node)] = now_s_;
    const double latency_s = graph_->latency_s(node);
    if (latency_s > 0) {
      if (lanes_.add(node, latency_s, now_s_)) return;
      const FlowSlotId slot = slots_.allocate();
      slots_[slot].node = node;
      slots_[slot].hops = kNone;
      calendar_.add(slot, now_s_ + latency_s);
    } else if (graph_->bytes(node) > 0) {
      begin_transfer(node);
    } else {
      instant_.push_back(node);
    }
  }

  /// Ends the latency; a firing without bytes to move is done.
  void begin_transfer(TransferId node) {
    const double bytes = graph_->bytes(node);
    if (bytes > 0) {
      const std::int32_t route = graph_->route_of(node);
      const std::int32_t shared = shared_links_.link_of(route);
      if (shared >= 0) {
        shared_links_.add(shared, node, now_s_);
        return;
      }
      if (adaptive_ && route_chooser_.way_of(node) > 0) {
        begin_detour(node);
        return;
      }
      const double bound_Bps = network_.bound_Bps(route, graph_->rate_cap_Bps(node));
      if (bound_Bps < std::numeric_limits<double>::infinity()) {
        network_.add(slot_for(node, bound_Bps), network_.limiting_links(route),
                     graph_->route_loads(route));
        return;
      }
    }
    instant_.push_back(node);
  }

  /// A slot for a flow that begins to move its bytes.
  FlowSlotId slot_for(TransferId node, double bound_Bps) {
    const FlowSlotId slot = slots_.allocate();
    FlowSlot& flow = slots_[slot];
    flow.node = node;
    flow.bound_Bps = bound_Bps;
    flow.bytes_left = graph_->bytes(node);
    flow.since_s = now_s_;
    flow.bucket = kNone;
    return slot;
  }

  /// Starts the transfer of a flow on an alternative route.
  void begin_detour(TransferId node) {
    graph_->links_on_way(graph_->route_of(node), route_chooser_.way_of(node), detour_);
    network_.add(slot_for(node, network_.bound_Bps(detour_, graph_->rate_cap_Bps(node))), detour_);
  }

  [[nodiscard]] double next_date() const {
    const double queued_s = std::min(lanes_.next_date(), shared_links_.next_date());
    return calendar_.empty() ? queued_s : std::min(queued_s, calendar_.next_date());
  }

  void handle_events() {
    do {
      if (lanes_.next_date() == now_s_) {
        begin_transfer(lanes_.pop());
        finish_instant_firings();
      } else if (shared_links_.next_date() == now_s_) {
        shared_links_.end_flows([this](TransferId node) {
          finish(node);
          finish_instant_firings();
        });
      } else {
        handle(calendar_.pop());
      }
    } while (next_date() == now_s_);
  }

  /// Handles one event of a bucket; its date is now_s_.
  void handle(FlowSlotId slot) {
    while (slot != kNone) {
      const FlowSlotId next = slots_[slot].next;
      const TransferId node = slots_[slot].node;
      if (slots_[slot].hops == kNone) {
        slots_.release(slot);
        begin_transfer(node);
      } else {
        network_.remove(slot);
        slots_.release(slot);
        finish(node);
      }
      // Called for each event, so that firings are reported in the order in which they finish.
      finish_instant_firings();
      slot = next;
    }
  }

  /// Starts a node of a graph with extras.
  void start_noted(TransferId node) {
    in_flight_ += in_background(node) ? 0 : 1;
    if (adaptive_ && route_chooser_.started(node)) {
      choice_s_ = now_s_ + RouteChooser::kWindow_s;
      other_s_ = std::min(other_s_, choice_s_);
    }
    start(node);
  }

  /// Finishes a node of a graph with extras or with an observer.
  void finish_noted(TransferId node) {
    const bool background = in_background(node);
    if (adaptive_) route_chooser_.done(node);
    if (observer_ != nullptr && !background) {
      observer_->on_firing(node, tracker_.iteration(node), start_s_[at(node)], now_s_);
    }
    if (!extras_) {
      tracker_.done(node, [this](TransferId ready) { start(ready); });
      return;
    }
    in_flight_ -= background ? 0 : 1;
    tracker_.done(node, [this](TransferId ready) { start_noted(ready); });
  }

  /// Sets the clock to other_s_ and handles the route choices and capacity changes of that date.
  void handle_other_events() {
    now_s_ = other_s_;
    if (choice_s_ == now_s_) choose_routes();
    if (next_date() == now_s_) handle_events();
    change_capacities();
  }

  void choose_routes() {
    choice_s_ = kNever;
    route_chooser_.choose([this](TransferId node, std::int32_t way) {
      if (observer_ != nullptr && !in_background(node)) {
        observer_->on_choice(node, tracker_.iteration(node), way);
      }
    });
  }

  void change_capacities() {
    while (changes_.any() && changes_.pending().time_s <= now_s_) {
      network_.set_capacity(changes_.pending().link, changes_.pending().capacity_Bps);
      changes_.advance();
    }
    other_s_ = std::min(choice_s_, changes_.any() ? changes_.pending().time_s : kNever);
  }

  void finish(TransferId node) {
    end_s_[at(node)] = now_s_;
    if (graph_->overlapping(node)) start_s_[at(node)] = now_s_ - graph_->latency_s(node);
    if (holding_) take_units(node);
    if (noted_) {
      finish_noted(node);
      return;
    }
    tracker_.done(node, [this](TransferId ready) { start(ready); });
  }

  /// Changes the capacities of links whose units the node takes or gives back.
  void take_units(TransferId node) {
    for (const TransferGraph::Hold& hold : graph_->holds(node)) {
      taken_[at(hold.link)] += hold.units;
      network_.set_capacity(hold.link, graph_->capacity_left_Bps(hold.link, taken_[at(hold.link)]));
    }
  }

  /// Uses a queue instead of recursion, because chains of instant firings can be as long as the
  /// graph.
  void finish_instant_firings() {
    if (instant_.empty()) {
      return;
    }
    for (std::size_t i = 0; i < instant_.size(); ++i) {
      finish(instant_[i]);
    }
    instant_.clear();
  }

  void settle() {
    shared_links_.settle();
    for (const FlowSlotId slot : network_.settle()) {
      FlowSlot& flow = slots_[slot];
      if (flow.target_Bps == flow.rate_Bps) {
        continue;
      }
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

  static constexpr double kNever = std::numeric_limits<double>::infinity();

  std::shared_ptr<const TransferGraph> graph_;
  FixedRates fixed_rates_;
  std::optional<bool> fixed_;  ///< true if fixed_rates_ can run the graph; nullopt: not known yet
  bool loaded_ = false;        ///< true if the members below hold the graph
  bool dated_ = false;         ///< true if start_s_ and end_s_ have the size of the graph
  DependencyTracker tracker_;
  FlowSlots slots_;
  FlowCalendar calendar_{slots_};
  FlowNetwork network_{slots_};
  SharedLinks shared_links_;
  LatencyLanes lanes_;
  TransferId first_background_ = 0;
  RouteChooser route_chooser_;
  std::vector<std::int32_t> detour_;  ///< used only in begin_detour
  bool adaptive_ = false;             ///< true if routes have alternatives
  bool extras_ = false;               ///< true if adaptive_ or if there is a background
  bool holding_ = false;              ///< true if nodes take units of links
  std::vector<std::int32_t> taken_;   ///< by link: units that are taken now
  CapacityReader changes_;
  std::vector<TransferId> instant_;  ///< nodes done at now_s_, not yet reported
  std::vector<double> start_s_;
  std::vector<double> end_s_;
  FiringObserver* observer_ = nullptr;
  bool noted_ = false;  ///< true with extras or with an observer
  double now_s_ = 0;
  double choice_s_ = kNever;  ///< next date at which routes are chosen
  double other_s_ = kNever;   ///< date of the next route choice or capacity change
  /// Started but unfinished firings, without the background; counted only with extras.
  std::int64_t in_flight_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_flow_engine() { return std::make_unique<FlowEngine>(); }

}  // namespace cclgym
