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
  /// `elastic`: true if set_capacity will be called.
  SimgridPlatform(const TransferGraph& graph, SimgridListener& listener, bool elastic);
  ~SimgridPlatform();
  SimgridPlatform(const SimgridPlatform&) = delete;
  SimgridPlatform& operator=(const SimgridPlatform&) = delete;

  [[nodiscard]] double now_s() const;
  [[nodiscard]] bool elastic() const;
  /// Resets the clock to 0 and the capacities to those of the graph. Nothing may be in flight.
  void reset();
  /// Changes the capacity of a link from now on. Requires elastic().
  void set_capacity(std::int32_t link, double capacity_Bps);
  /// Starts moving bytes > 0 now over alternative `way` of a route with at least one link.
  void start_flow(std::int32_t route, std::int32_t way, double bytes, double rate_cap_Bps,
                  std::int32_t tag);
  /// Calls on_timer(tag) at `date_s`.
  void set_timer(double date_s, std::int32_t tag);
  /// Runs until nothing is in flight.
  void run();
  /// Cancels everything in flight; called from a timer.
  void cancel_flows();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cclgym
