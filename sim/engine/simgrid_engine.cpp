#include "sim/engine/simgrid_engine.hpp"

#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/simgrid_adapter.hpp"
#include "sim/graph/dependency_tracker.hpp"
#include "sim/graph/route_chooser.hpp"

namespace cclgym {
namespace {

/// Limits the process to one engine, since SimGrid is a singleton.
class ExclusiveToken {
 public:
  ExclusiveToken() {
    if (taken_.exchange(true)) {
      throw std::logic_error(
          "engine simgrid: another one is alive in this process; SimGrid allows only one");
    }
  }
  ~ExclusiveToken() { taken_ = false; }
  ExclusiveToken(const ExclusiveToken&) = delete;
  ExclusiveToken& operator=(const ExclusiveToken&) = delete;

 private:
  static inline std::atomic<bool> taken_{false};
};

/// Dependencies are counted here, and a communication is created only when it begins to move bytes:
/// SimGrid's own dependency graph is quadratic in the number of activities.
class SimgridEngine final : public Engine, private SimgridListener {
 public:
  [[nodiscard]] std::string_view name() const override { return "simgrid"; }

  void load(std::shared_ptr<const TransferGraph> graph) override {
    if (graph != nullptr && graph->loaded()) {
      throw std::logic_error("engine simgrid: flows with loads are not supported");
    }
    tracker_.load(graph);
    platform_.reset();  // only one may exist
    graph_ = std::move(graph);
    platform_ = make_simgrid_platform(*graph_, *this, graph_->holding());
    adaptive_ = graph_->adaptive();
    if (adaptive_) route_chooser_.load(*graph_);
    start_s_.assign(static_cast<std::size_t>(graph_->size()), 0.0);
    end_s_.assign(start_s_.size(), 0.0);
  }

  EngineResult run(FiringObserver* observer, CapacityProcess* capacities) override {
    if (!platform_) {
      throw std::logic_error("engine simgrid: run before load");
    }
    const bool elastic = capacities != nullptr || graph_->holding();
    if (platform_->elastic() != elastic) {
      platform_.reset();
      platform_ = make_simgrid_platform(*graph_, *this, elastic);
    }
    observer_ = observer;
    failure_ = nullptr;
    makespan_s_ = 0;
    in_flight_ = 0;
    over_ = false;
    instant_.clear();
    free_timers_.clear();
    for (std::size_t timer = 0; timer < timers_.size(); ++timer) {
      timers_[timer].nodes.clear();
      free_timers_.push_back(static_cast<std::int32_t>(timer));
    }
    open_timer_ = kNoTimer;
    platform_->reset();
    taken_.assign(graph_->holding() ? graph_->link_capacities_Bps().size() : 0, 0);
    changes_.start(capacities, graph_->link_capacities_Bps().size());
    if (adaptive_) route_chooser_.reset();
    tracker_.reset();
    guarded([this] {
      tracker_.start_roots([this](TransferId node) { start(node); });
      finish_instant_firings();
      change_capacities();
    });
    platform_->run();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    if (tracker_.left() > 0) {
      tracker_.throw_stalled();
    }
    return {makespan_s_, start_s_, end_s_};
  }

 private:
  /// The nodes whose latency ends at one date; one SimGrid timer serves them all.
  struct Timer {
    double date_s = 0;
    std::vector<TransferId> nodes;
  };
  static constexpr std::int32_t kNoTimer = -1;

  // Tags of timers that are not in timers_.
  static constexpr std::int32_t kChange = -1;
  static constexpr std::int32_t kChoice = -2;
  static constexpr std::int32_t kOver = -3;

  [[nodiscard]] bool in_background(TransferId node) const {
    return node >= graph_->first_background();
  }

  void on_flow_done(std::int32_t tag) override {
    guarded([this, tag] { finish(tag); });
  }

  void on_timer(std::int32_t tag) override {
    if (tag == kOver) {
      platform_->cancel_flows();
      return;
    }
    guarded([this, tag] {
      if (tag == kChange) {
        change_capacities();
        return;
      }
      if (tag == kChoice) {
        choose_routes();
        return;
      }
      if (open_timer_ == tag) {
        open_timer_ = kNoTimer;
      }
      // Indexed, because started nodes may set further timers.
      for (std::size_t i = 0; i < timers_[at(tag)].nodes.size(); ++i) {
        begin_transfer(timers_[at(tag)].nodes[i]);
        finish_instant_firings();
      }
      timers_[at(tag)].nodes.clear();
      free_timers_.push_back(tag);
    });
  }

  /// No exception may pass through SimGrid: the first one is kept, transfers in flight finish
  /// without starting anything, and run() throws it.
  template <class Body>
  void guarded(Body&& body) {
    if (over_) {
      return;
    }
    try {
      body();
      finish_instant_firings();
    } catch (...) {
      failure_ = std::current_exception();
    }
    // Only background can be left in flight, and it is not waited for.
    over_ = failure_ != nullptr || in_flight_ == 0;
    if (over_ && (failure_ || graph_->has_background())) {
      platform_->set_timer(platform_->now_s(), kOver);
    }
  }

  void change_capacities() {
    while (changes_.any() && changes_.pending().time_s <= platform_->now_s()) {
      platform_->set_capacity(changes_.pending().link, changes_.pending().capacity_Bps);
      changes_.advance();
    }
    if (changes_.any()) {
      platform_->set_timer(changes_.pending().time_s, kChange);
    }
  }

  void choose_routes() {
    route_chooser_.choose([this](TransferId node, std::int32_t way) {
      if (observer_ != nullptr && !in_background(node)) {
        observer_->on_choice(node, tracker_.iteration(node), way);
      }
    });
  }

  void start(TransferId node) {
    const double now_s = platform_->now_s();
    start_s_[at(node)] = now_s;
    in_flight_ += in_background(node) ? 0 : 1;
    if (adaptive_ && route_chooser_.started(node)) {
      platform_->set_timer(now_s + RouteChooser::kWindow_s, kChoice);
    }
    double begin_s = now_s + graph_->latency_s(node);
    if (graph_->bytes(node) > 0 && !crosses_links(node)) {
      begin_s += graph_->bytes(node) / graph_->rate_cap_Bps(node);
    }
    if (begin_s > now_s) {
      wait_until(begin_s, node);
    } else {
      begin_transfer(node);
    }
  }

  /// False for a flow on an empty route: it shares nothing, and SimGrid has no such routes, so it
  /// is entirely a delay.
  [[nodiscard]] bool crosses_links(TransferId node) const {
    return graph_->route_of(node) >= 0 && !graph_->route_links(graph_->route_of(node)).empty();
  }

  void wait_until(double date_s, TransferId node) {
    if (open_timer_ == kNoTimer || timers_[at(open_timer_)].date_s != date_s) {
      if (free_timers_.empty()) {
        free_timers_.push_back(static_cast<std::int32_t>(timers_.size()));
        timers_.emplace_back();
      }
      open_timer_ = free_timers_.back();
      free_timers_.pop_back();
      timers_[at(open_timer_)].date_s = date_s;
      platform_->set_timer(date_s, open_timer_);
    }
    timers_[at(open_timer_)].nodes.push_back(node);
  }

  void begin_transfer(TransferId node) {
    if (graph_->bytes(node) > 0 && crosses_links(node)) {
      platform_->start_flow(graph_->route_of(node), adaptive_ ? route_chooser_.way_of(node) : 0,
                            graph_->bytes(node), graph_->rate_cap_Bps(node), node);
    } else {
      instant_.push_back(node);
    }
  }

  void finish(TransferId node) {
    const double now_s = platform_->now_s();
    end_s_[at(node)] = now_s;
    if (graph_->overlapping(node)) start_s_[at(node)] = now_s - graph_->latency_s(node);
    for (const TransferGraph::Hold& hold : graph_->holds(node)) {
      taken_[at(hold.link)] += hold.units;
      platform_->set_capacity(hold.link,
                              graph_->capacity_left_Bps(hold.link, taken_[at(hold.link)]));
    }
    if (adaptive_) route_chooser_.done(node);
    if (!in_background(node)) {
      --in_flight_;
      makespan_s_ = now_s;
    }
    if (observer_ != nullptr && !in_background(node)) {
      observer_->on_firing(node, tracker_.iteration(node), start_s_[at(node)], now_s);
    }
    tracker_.done(node, [this](TransferId ready) { start(ready); });
  }

  void finish_instant_firings() {
    for (std::size_t i = 0; i < instant_.size(); ++i) {
      finish(instant_[i]);
    }
    instant_.clear();
  }

  ExclusiveToken token_;
  std::shared_ptr<const TransferGraph> graph_;
  DependencyTracker tracker_;
  RouteChooser route_chooser_;
  bool adaptive_ = false;
  std::vector<std::int32_t> taken_;  ///< by link: units that are taken now
  CapacityReader changes_;
  std::unique_ptr<SimgridPlatform> platform_;
  std::vector<Timer> timers_;
  std::vector<std::int32_t> free_timers_;
  std::int32_t open_timer_ = kNoTimer;  ///< the timer used last
  std::vector<TransferId> instant_;     ///< nodes that started and finished now, not yet reported
  std::vector<double> start_s_;
  std::vector<double> end_s_;
  FiringObserver* observer_ = nullptr;
  std::exception_ptr failure_;
  double makespan_s_ = 0;
  std::int64_t in_flight_ = 0;  ///< started but unfinished firings, without background
  bool over_ = false;           ///< the run is over; later events are ignored
};

}  // namespace

std::unique_ptr<Engine> make_simgrid_engine() { return std::make_unique<SimgridEngine>(); }

}  // namespace cclgym
