// Runs of transfer graphs whose links never saturate: each flow always moves at its own bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// If the flows that may be on a link at the same time never ask for more than its capacity, rates
/// do not depend on what else moves. A firing then takes a constant time, and the dates of a run
/// follow from its dependencies alone: no events, no calendar and no max-min solve. The dates are
/// those of engine flow, bit for bit, except where the bounds of several flows add up to a capacity
/// within rounding.
class FixedRates {
 public:
  /// Prepares a graph, which must outlive the runs. Returns false, and can then run nothing, if a
  /// link might saturate, or if the graph has a background, holds or nodes that can never fire.
  bool load(const TransferGraph& graph);

  /// Runs the graph and writes start and end of the last firing of each node (as EngineResult).
  /// Reports firings to `observer`, if any, in an order of their dependencies, not of their dates.
  /// Returns the makespan in seconds.
  double run(std::span<double> start_s, std::span<double> end_s, FiringObserver* observer);

 private:
  struct Node {
    double latency_s;
    double transfer_s;   ///< time of the bytes at the rate of the flow
    std::int64_t first;  ///< round in which it fires first
    TransferId id;
    std::int32_t repeat;
    std::uint32_t ready;  ///< first of its places in ready_s_
    std::uint32_t mask;   ///< number of these places, a power of two, less one
    std::uint32_t edges;  ///< first of its edges
    std::uint32_t edges_end;
    std::uint32_t place;  ///< place of the node itself in nodes_
    bool overlapping;
    double next_s = 0;  ///< first date at which it may fire again
  };
  /// Edge to a node: its places in ready_s_, and the lag.
  struct Edge {
    std::uint32_t ready;
    std::uint32_t mask;
    std::uint32_t lag;
    /// The only firing that its target waits for; or, if each of the target's firings waits for
    /// one, minus the number of the target's firings.
    std::int32_t only;
  };

  [[nodiscard]] bool may_fit();
  [[nodiscard]] bool fits(const std::vector<double>& demand_Bps) const;
  [[nodiscard]] bool never_saturates();
  [[nodiscard]] bool order_nodes();
  [[nodiscard]] bool plan_folded();
  /// Calls visit(id) for each node, along the edges without a lag.
  template <class Visit>
  void for_each_in_order(Visit&& visit) const {
    if (!order_.empty()) {
      for (const TransferId id : order_) visit(id);
      return;
    }
    const TransferId size = graph_->size();
    for (TransferId id = 0; id < size; ++id) visit(id);
  }
  template <bool kOwnShapes>
  double run_plain(std::span<double> start_s, std::span<double> end_s, FiringObserver* observer);
  double run_folded(std::span<double> start_s, std::span<double> end_s, FiringObserver* observer);

  const TransferGraph* graph_ = nullptr;
  /// By number of a shape: the bound of its flows (only while loading; 0: they move nothing, or
  /// take no time), and the time of their bytes.
  std::vector<double> rate_Bps_;
  std::vector<double> transfer_s_;
  std::vector<TransferId> order_;  ///< along the edges without a lag; empty: by number
  // Folded graphs only.
  std::vector<Node> nodes_;  ///< in the order
  std::vector<Edge> edges_;
  std::vector<std::int64_t> turns_;  ///< rounds in which a node fires first, or no more; ascending
  std::vector<double> ready_s_;  ///< by place: date at which the dependencies of a firing are done
  std::vector<std::uint32_t> live_;  ///< places in nodes_ of the nodes that fire in a round
  std::vector<Node> live_nodes_;     ///< copies of these nodes, if they fire in many rounds
};

}  // namespace cclgym
