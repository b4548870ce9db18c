// The only interface to SimGrid: hides all dependence on its version and internals.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Callbacks from SimGrid to the engine. Both may start further flows and timers.
class SimgridListener {
 public:
  virtual ~SimgridListener() = default;
  virtual void on_flow_done(std::int32_t tag) = 0;
  virtual void on_timer(std::int32_t tag) = 0;
};

/// One SimGrid simulation with the links and routes of a transfer graph. The caller ensures that at
/// most one is alive in a process. SimGrid's network model computes exactly latency + bytes / rate
/// with pure max-min fairness (docs/architecture.md, "The mapping to SimGrid").
class SimgridPlatform {
 public:
  virtual ~SimgridPlatform() = default;

  [[nodiscard]] virtual double now_s() const = 0;
  [[nodiscard]] virtual bool elastic() const = 0;
  /// Resets the clock to 0 and the capacities to those of the graph. Nothing may be in flight.
  virtual void reset() = 0;
  /// Changes the capacity of a link from now on. Requires elastic().
  virtual void set_capacity(std::int32_t link, double capacity_Bps) = 0;
  /// Starts moving bytes > 0 now over alternative `way` of a route with at least one link.
  virtual void start_flow(std::int32_t route, std::int32_t way, double bytes, double rate_cap_Bps,
                          std::int32_t tag) = 0;
  /// Calls on_timer(tag) at `date_s`.
  virtual void set_timer(double date_s, std::int32_t tag) = 0;
  /// Runs until nothing is in flight.
  virtual void run() = 0;
  /// Cancels everything in flight; called from a timer.
  virtual void cancel_flows() = 0;
};

/// Makes a platform. `elastic`: true if set_capacity will be called. A program either contains
/// SimGrid (simgrid_direct.cpp) or loads it with the first platform (simgrid_lazy.cpp), because
/// loading it takes longer than most simulations. The second throws LibraryMissing if the library
/// cannot be loaded.
[[nodiscard]] std::unique_ptr<SimgridPlatform> make_simgrid_platform(const TransferGraph& graph,
                                                                     SimgridListener& listener,
                                                                     bool elastic);
/// Loads the library now, if the program does not contain SimGrid. Throws LibraryMissing.
void load_simgrid();

}  // namespace cclgym

/// The only export of the library: makes a platform, which the caller owns.
extern "C" cclgym::SimgridPlatform* cclgym_new_simgrid_platform(const cclgym::TransferGraph* graph,
                                                                cclgym::SimgridListener* listener,
                                                                bool elastic);
