// Tested with SimGrid 3.32 (Debian 12), 3.35 (Ubuntu 24.04) and 4.0 (Debian 13).
#include "sim/engine/simgrid_adapter.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <xbt/log.h>

// Two symbols that SimGrid exports but does not declare in its public headers. The build checks
// that both can be linked (sim/CMakeLists.txt).
namespace simgrid::kernel::activity {
class CommImpl {
 public:
  CommImpl& set_size(double bytes);
  CommImpl& set_rate(double rate_Bps);
};
}  // namespace simgrid::kernel::activity
/// SimGrid's clock, EngineImpl::now_. It survives the engine and affects the low bits of every
/// date, so it is reset to 0 between runs, which makes them bit-identical.
extern double cclgym_simgrid_clock_s asm("_ZN7simgrid6kernel10EngineImpl4now_E");

namespace cclgym {
namespace {

namespace sg = simgrid::s4u;

#if SIMGRID_VERSION >= 33400
using DoneActivity = sg::Comm;
#else
using DoneActivity = sg::Activity;

/// The private signal of a finished activity. (An explicit instantiation may name private members.)
/// Before version 3.34, every SimGrid engine adds to it a callback for virtual machines and never
/// removes it: after 1,000 platforms, each flow would run 1,000 callbacks.
using DoneSignal = simgrid::xbt::signal<void(const sg::Activity&)>;
DoneSignal& done_signal();
template <DoneSignal* Signal>
struct Expose {
  friend DoneSignal& done_signal() { return *Signal; }
};
template struct Expose<&sg::Activity::on_completion>;
#endif

/// SimGrid is a singleton whose signals keep their callbacks forever, so the callback has to look
/// up the current platform.
class Platform;
std::atomic<Platform*> live_platform{nullptr};

/// Restores the program's own handlers for Ctrl-C and faults, which SimGrid replaces.
class SignalKeeper {
 public:
  SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &kept_[i]);
    }
  }
  ~SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &kept_[i], nullptr);
    }
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, kSignals.size()> kept_{};
};

/// Settings outlive the engine, and SimGrid refuses to change its model after first use.
bool configure() {
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/crosstraffic:0");
#if SIMGRID_VERSION >= 33400
  sg::Engine::set_config("network/TCP-gamma:0");
  sg::Engine::set_config("precision/timing:1e-18");
  sg::Engine::set_config("precision/work-amount:1e-12");
#else
  sg::Engine::set_config("network/TCP-gamma:1e30");
  sg::Engine::set_config("surf/precision:1e-18");
  sg::Engine::set_config("maxmin/precision:1e-12");
#endif
  return true;
}

sg::NetZone* make_zone([[maybe_unused]] sg::Engine& engine) {
#if SIMGRID_VERSION >= 40000
  return engine.get_netzone_root()->add_netzone_full("fabric");
#else
  return sg::create_full_zone("fabric");
#endif
}

sg::Host* make_host(sg::NetZone* zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return zone->add_host(name, 1e9);
#else
  return zone->create_host(name, 1e9);
#endif
}

sg::Link* make_link(sg::NetZone* zone, const std::string& name, double capacity_Bps) {
#if SIMGRID_VERSION >= 40000
  sg::Link* link = zone->add_link(name, capacity_Bps);
#else
  sg::Link* link = zone->create_link(name, capacity_Bps);
#endif
  return link->set_latency(0.0);
}

/// Bandwidth of an elastic link, beyond any flow's rate.
constexpr double kBeyondAll_Bps = 1e30;

void make_route(sg::NetZone* zone, sg::Host* source, sg::Host* target,
                const std::vector<sg::LinkInRoute>& links) {
#if SIMGRID_VERSION >= 33600
  zone->add_route(source, target, links, false);
#else
  zone->add_route(source->get_netpoint(), target->get_netpoint(), nullptr, nullptr, links, false);
#endif
}

class Platform final : public SimgridPlatform {
 public:
  Platform(const TransferGraph& graph, SimgridListener& listener, bool elastic)
      : graph_(graph), listener_(listener), elastic_(elastic) {
    make_engine();
    build(graph);
    connect();
    live_platform = this;
  }
  ~Platform() override { live_platform = nullptr; }
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  [[nodiscard]] double now_s() const override { return cclgym_simgrid_clock_s; }
  [[nodiscard]] bool elastic() const override { return elastic_; }

  void reset() override {
    cclgym_simgrid_clock_s = 0;
    if (!elastic_) return;
    const auto capacities = graph_.link_capacities_Bps();
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      set_capacity(static_cast<std::int32_t>(link), capacities[link]);
    }
  }

  void set_capacity(std::int32_t link, double capacity_Bps) override {
    double& known_Bps = capacity_Bps_[static_cast<std::size_t>(link)];
    if (known_Bps == capacity_Bps) return;
    known_Bps = capacity_Bps;
    links_[static_cast<std::size_t>(link)]->set_bandwidth(kBeyondAll_Bps);  // triggers an update
  }

  void on_done(const DoneActivity& activity) {
    if (cancelled_) return;
    const auto slot =
        reinterpret_cast<std::intptr_t>(const_cast<DoneActivity&>(activity).get_data<void>());
    // A communication must not be freed within its own callback: it lives until the next one ends.
    grave_ = std::move(flows_[static_cast<std::size_t>(slot)].comm);
    free_.push_back(static_cast<std::size_t>(slot));
    listener_.on_flow_done(flows_[static_cast<std::size_t>(slot)].tag);
  }

  void start_flow(std::int32_t route, std::int32_t way, double bytes, double rate_cap_Bps,
                  std::int32_t tag) override {
    if (free_.empty()) {
      free_.push_back(flows_.size());
      flows_.emplace_back();
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    flows_[slot].tag = tag;
    const auto& [source, target] =
        hosts_[first_way_[static_cast<std::size_t>(route)] + static_cast<std::size_t>(way)];
    sg::CommPtr comm = sg::Comm::sendto_init();
    comm->set_payload_size(1);  // with size 0 it would not start
    auto* kernel = reinterpret_cast<simgrid::kernel::activity::CommImpl*>(comm->get_impl());
    kernel->set_size(bytes);
    if (std::isfinite(rate_cap_Bps)) {
      kernel->set_rate(rate_cap_Bps);
    }
    comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(slot)));
    flows_[slot].comm = comm;
    comm->set_source(source);
    comm->set_destination(target);  // starts it
  }

  void cancel_flows() override {
    // SimGrid signals a cancelled communication twice, so cancelled communications must stay alive.
    cancelled_ = true;
    for (const Flow& flow : flows_) {
      if (flow.comm) flow.comm->cancel();
    }
  }

  void set_timer(double date_s, std::int32_t tag) override {
    ++timers_;
    simgrid::kernel::timer::Timer::set(date_s, [this, tag] {
      --timers_;
      listener_.on_timer(tag);
    });
  }

  void run() override {
    set_guard(kFirstGuard_s);
    cancelled_ = false;
    engine_->run();
    grave_ = nullptr;
    if (cancelled_) {
      flows_.clear();
      free_.clear();
    }
    if (flows_in_flight() > 0) {
      throw std::logic_error("SimGrid stopped with flows in flight");
    }
  }

 private:
  struct Flow {
    sg::CommPtr comm;
    std::int32_t tag = 0;
  };

  /// SimGrid advances by now += date - now. If rounding overshoots the date of an event by more
  /// than the timing precision, SimGrid never handles the event. Below kFirstGuard_s no rounding is
  /// that large. Above it, an idle timer at every power of two keeps date <= 2 * now, which makes
  /// the subtraction exact (Sterbenz), so the clock meets every date.
  static constexpr double kFirstGuard_s = 1.0 / 1024;

  void set_guard(double date_s) {
    simgrid::kernel::timer::Timer::set(date_s, [this, date_s] {
      if ((flows_in_flight() > 0 && !cancelled_) || timers_ > 0) {
        set_guard(2 * date_s);
      }
    });
  }

  [[nodiscard]] std::size_t flows_in_flight() const { return flows_.size() - free_.size(); }

  void make_engine() {
    const SignalKeeper keeper;
    // SimGrid reports each setting at level info.
    xbt_log_control_set("root.thresh:error");
    engine_ = std::make_unique<sg::Engine>("cclgym");
    [[maybe_unused]] static const bool configured = configure();
  }

  void build(const TransferGraph& graph) {
    sg::NetZone* zone = make_zone(*engine_);
    const auto capacities = graph.link_capacities_Bps();
    capacity_Bps_.assign(capacities.begin(), capacities.end());
    std::vector<sg::LinkInRoute> links;
    for (const double& capacity_Bps : capacity_Bps_) {
      const std::string name = "l" + std::to_string(links.size());
      links_.push_back(make_link(zone, name, elastic_ ? kBeyondAll_Bps : capacity_Bps));
      if (elastic_) {
        links_.back()->set_sharing_policy(sg::Link::SharingPolicy::NONLINEAR,
                                          [&capacity_Bps](double, int) { return capacity_Bps; });
      }
      links.emplace_back(links_.back()->seal());
    }
    // The minimum number of hosts with enough ordered pairs, because SimGrid's route table has
    // hosts x hosts entries.
    std::size_t ways = 0;
    for (std::int32_t route = 0; route < graph.routes(); ++route) {
      first_way_.push_back(ways);
      ways += static_cast<std::size_t>(graph.ways(route));
    }
    std::size_t host_count = 2;
    while (host_count * (host_count - 1) < ways) {
      ++host_count;
    }
    std::vector<sg::Host*> hosts;
    for (std::size_t host = 0; host < host_count; ++host) {
      hosts.push_back(make_host(zone, "h" + std::to_string(host)));
    }
    std::vector<std::int32_t> ids;
    for (std::int32_t route = 0; route < graph.routes(); ++route) {
      for (std::int32_t way = 0; way < graph.ways(route); ++way) {
        const std::size_t source = hosts_.size() / (host_count - 1);
        const std::size_t rest = hosts_.size() % (host_count - 1);
        const std::size_t target = rest < source ? rest : rest + 1;
        hosts_.emplace_back(hosts[source], hosts[target]);
        graph.links_on_way(route, way, ids);
        std::vector<sg::LinkInRoute> on_way;
        for (const std::int32_t link : ids) {
          on_way.push_back(links[static_cast<std::size_t>(link)]);
        }
        if (!on_way.empty()) {
          make_route(zone, hosts[source], hosts[target], on_way);
        }
      }
    }
    // By itself, SimGrid seals only the first platform of a process.
    zone->seal();
#if SIMGRID_VERSION >= 40000
    engine_->get_netzone_root()->seal();
#endif
  }

  static void connect() {
    const auto done = [](const DoneActivity& activity) {
      live_platform.load(std::memory_order_relaxed)->on_done(activity);
    };
#if SIMGRID_VERSION >= 33400
    [[maybe_unused]] static const bool connected = (sg::Comm::on_completion_cb(done), true);
#else
    done_signal().disconnect_slots();
    done_signal().connect(done);
#endif
  }

  const TransferGraph& graph_;
  SimgridListener& listener_;
  const bool elastic_;
  std::vector<double> capacity_Bps_;  ///< current capacity by link
  std::vector<sg::Link*> links_;
  std::unique_ptr<sg::Engine> engine_;
  std::vector<std::size_t> first_way_;                  ///< by route
  std::vector<std::pair<sg::Host*, sg::Host*>> hosts_;  ///< by alternative route
  std::vector<Flow> flows_;
  std::vector<std::size_t> free_;
  std::size_t timers_ = 0;
  bool cancelled_ = false;  ///< true if flows were cancelled in this run
  sg::CommPtr grave_;
};

}  // namespace
}  // namespace cclgym

cclgym::SimgridPlatform* cclgym_new_simgrid_platform(const cclgym::TransferGraph* graph,
                                                     cclgym::SimgridListener* listener,
                                                     bool elastic) {
  return std::make_unique<cclgym::Platform>(*graph, *listener, elastic).release();
}
