// Cost records while a program is lowered: each distinct record is kept and priced once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/prices/node_cost.hpp"
#include "sim/prices/price.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Interns the cost records of the nodes of one graph. The model and the fabric must outlive it.
class NodeCostTable {
 public:
  NodeCostTable(const CostModel& model, const Fabric& fabric, PriceTerms terms);

  /// Index of a route's class, for NodeCost::route.
  [[nodiscard]] std::int32_t route_class(std::span<const LinkId> links);
  /// Index of a record.
  [[nodiscard]] std::int32_t record(const NodeCost& cost) {
    // Most steps of a thread block have the same record as the previous step.
    if (last_ >= 0 && costs_.records[static_cast<std::size_t>(last_)] == cost) return last_;
    return last_ = find_or_add(cost);
  }
  /// Index of the record of the arrival that belongs to a transfer's record.
  [[nodiscard]] std::int32_t arrival_of(std::int32_t transfer) {
    const std::int32_t known = arrival_[static_cast<std::size_t>(transfer)];
    return known >= 0 ? known : add_arrival_of(transfer);
  }
  [[nodiscard]] const Price& price_of(std::int32_t record) const {
    return prices_[static_cast<std::size_t>(record)];
  }
  [[nodiscard]] const NodeCost& cost_of(std::int32_t record) const {
    return costs_.records[static_cast<std::size_t>(record)];
  }
  [[nodiscard]] double tile_bytes() const { return costs_.terms.tile_bytes; }

  /// Assigns this record, with a delay of `delay_s`, to the next node of the graph.
  void add_node(std::int32_t record, double delay_s = 0) {
    if (delay_s != 0) {
      costs_.delays.push_back({static_cast<TransferId>(costs_.record_of.size()), delay_s});
    }
    costs_.record_of.push_back(record);
  }
  /// Record of a node that was added.
  [[nodiscard]] std::int32_t record_of(TransferId node) const {
    return costs_.record_of[static_cast<std::size_t>(node)];
  }
  /// Hands over the records; the table must not be used afterwards.
  [[nodiscard]] NodeCosts take() { return std::move(costs_); }

 private:
  /// Kind, whether the latency was stated, and the latency of each link.
  using RouteKey = std::vector<std::tuple<LinkKind, bool, double>>;
  std::int32_t find_or_add(const NodeCost& cost);
  std::int32_t add_arrival_of(std::int32_t transfer);
  void grow();

  const CostModel& model_;
  const Fabric& fabric_;
  NodeCosts costs_;
  std::vector<Price> prices_;          ///< by record
  std::vector<std::int32_t> arrival_;  ///< by record of a transfer; -1: not requested yet
  std::vector<std::int32_t> slots_;    ///< open addressing, -1 is free
  std::int32_t last_ = -1;             ///< record that was requested last
  std::map<RouteKey, std::int32_t> route_classes_;
  RouteKey scratch_key_;
};

}  // namespace cclgym
