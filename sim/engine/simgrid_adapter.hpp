// The only door to SimGrid: everything that depends on its version or its internals is behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// What the engine is told by SimGrid. Both calls may start further flows and timers.
class SimgridListener {
 public:
  virtual ~SimgridListener() = default;
  virtual void on_flow_done(std::int32_t tag) = 0;
  virtual void on_timer(std::int32_t tag) = 0;
};

/// One SimGrid simulation with the links and routes of a transfer graph. The caller sees to it that
/// at most one is alive in a process.
///
/// How a transfer graph is put to SimGrid, so that its network model computes exactly latency +
/// bytes / rate with pure max-min fairness:
/// - model CM02 without cross traffic and TCP window, with tight precision;
/// - every link has latency 0, because SimGrid weighs flows by 1 / latency: a flow's own latency is
///   a timer before it;
/// - routes belong to host pairs in SimGrid, so each way of a route gets an ordered pair of hosts
///   of its own; hosts are shared between pairs and mean nothing;
/// - a flow keeps for ever the bound that SimGrid gives it when it starts, the narrowest bandwidth
///   on its route, so that links whose capacity may change (`elastic`) have a bandwidth beyond
///   all, and what SimGrid shares out is what their callback says;
/// - sizes and rate caps are set on the kernel object of a communication: the public size is a
///   whole number of bytes, and the public rate is ignored for host-to-host communications.
class SimgridPlatform {
 public:
  /// `elastic`: will set_capacity be called?
  SimgridPlatform(const TransferGraph& graph, SimgridListener& listener, bool elastic);
  ~SimgridPlatform();
  SimgridPlatform(const SimgridPlatform&) = delete;
  SimgridPlatform& operator=(const SimgridPlatform&) = delete;

  [[nodiscard]] double now_s() const;
  [[nodiscard]] bool elastic() const;
  /// Sets the clock to 0, and the capacities to those of the graph. Nothing may be in flight.
  void reset();
  /// From now on, a link has another capacity. Only if elastic().
  void set_capacity(std::int32_t link, double capacity_Bps);
  /// Starts to move bytes > 0 over a route of at least one link, on one of its ways, now.
  void start_flow(std::int32_t route, std::int32_t way, double bytes, double rate_cap_Bps,
                  std::int32_t tag);
  /// Calls on_timer(tag) at `date_s`.
  void set_timer(double date_s, std::int32_t tag);
  /// Runs until nothing is in flight.
  void run();
  /// Ends what is in flight; from within a timer.
  void cancel_flows();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cclgym
