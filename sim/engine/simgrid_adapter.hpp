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
/// most one is alive in a process.
///
/// The mapping makes SimGrid's network model compute exactly latency + bytes / rate with pure
/// max-min fairness:
/// * model CM02 without cross traffic and TCP window, with tight precision;
/// * links have latency 0, because SimGrid weighs flows by 1 / latency; a timer before each flow
///   adds its latency;
/// * SimGrid's routes belong to host pairs, so each alternative of a route has its own ordered pair
///   of hosts; hosts are shared between pairs and have no other meaning;
/// * a flow keeps the bound that SimGrid gives it at its start, the narrowest bandwidth on its
///   route; links whose capacity may change (`elastic`) therefore have an unreachable bandwidth,
///   and a callback sets the shared capacity;
/// * sizes and rate caps are set on the kernel object of a communication: the public size is a
///   whole number of bytes, and the public rate is ignored for host-to-host communications.
class SimgridPlatform {
 public:
  /// `elastic`: set_capacity will be called.
  SimgridPlatform(const TransferGraph& graph, SimgridListener& listener, bool elastic);
  ~SimgridPlatform();
  SimgridPlatform(const SimgridPlatform&) = delete;
  SimgridPlatform& operator=(const SimgridPlatform&) = delete;

  [[nodiscard]] double now_s() const;
  [[nodiscard]] bool elastic() const;
  /// Resets the clock to 0 and the capacities to those of the graph. Nothing may be in flight.
  void reset();
  /// Changes the capacity of a link from now on. Only if elastic().
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
