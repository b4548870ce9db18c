// Prices: the numbers that a cost model gives to the nodes of a transfer graph.
#pragma once

#include <span>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/graph/transfer_graph.hpp"
#include "sim/prices/node_cost.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Price of one firing of a node.
struct Price {
  double wire_bytes = 0;             ///< bytes that load the links
  double latency_s = 0;              ///< time before the first byte; for a delay, its total time
  double rate_cap_Bps = kNoRateCap;  ///< maximum wire rate

  friend bool operator==(const Price&, const Price&) = default;
};

/// Price of a cost record; `routes` are NodeCosts::routes. This is the only function that computes
/// bytes, latencies and rate caps of nodes: the lowering, noise and the symmetric quotient all call
/// it.
[[nodiscard]] Price price(const CostModel& model, const Fabric& fabric, const PriceTerms& terms,
                          std::span<const std::vector<LinkId>> routes, const NodeCost& cost);

/// Prices of all records of a program, in their order.
[[nodiscard]] std::vector<Price> prices_of(const CostModel& model, const Fabric& fabric,
                                           const NodeCosts& costs);

}  // namespace cclgym
