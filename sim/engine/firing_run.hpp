// Runs of folded graphs whose firings have latencies of their own, while capacities change.
#pragma once

#include <memory>
#include <span>

#include "sim/graph/capacity_process.hpp"
#include "sim/graph/firing_tracker.hpp"

namespace cclgym {

/// Engine flow for a graph of which every firing would have to be a node of its own (unfolded()),
/// because its latency differs: the same events in the same order, so that the dates have the same
/// bits, but with the memory of the folded graph. Without routes with alternatives, holds, a
/// background or an observer.
class FiringRun {
 public:
  FiringRun();
  ~FiringRun();
  FiringRun(const FiringRun&) = delete;
  FiringRun& operator=(const FiringRun&) = delete;

  /// True if a graph can be run.
  [[nodiscard]] static bool possible(const TransferGraph& graph);

  struct Dates {
    double makespan_s = 0;
    std::span<const double> end_s;  ///< by node: date at which its last firing was done
  };
  /// Runs a finished graph that is possible. The dates stay valid until the next run. Throws
  /// GraphStalled, without the names of nodes, if some node can never fire.
  Dates run(std::shared_ptr<const TransferGraph> graph, const FiringLatencies& latencies,
            CapacityProcess& capacities);

 private:
  class Events;
  std::unique_ptr<Events> events_;
};

}  // namespace cclgym
