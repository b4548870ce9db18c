// Copies of transfer graphs with other costs or repeats, and comparisons.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

TransferGraph TransferGraph::truncated(std::int32_t repeat) const {
  if (!finished_ || repeat < 1) {
    throw std::logic_error("TransferGraph: truncated before finish, or to less than one firing");
  }
  TransferGraph copy = *this;
  copy.firings_ = copy.flow_firings_ = 0;
  for (TransferId node = 0; node < first_background(); ++node) {
    // Nodes of the background share no shapes with the others.
    NodeShape& shape = copy.shapes_.shape(copy.shapes_.number(node));
    const std::int32_t fewer = std::min(shape.firings(), repeat);
    shape.repeat = shape.overlapping() ? -fewer : fewer;
    copy.firings_ += fewer;
    copy.flow_firings_ += shape.route >= 0 ? fewer : 0;
  }
  return copy;
}

TransferGraph TransferGraph::with_costs(Costs costs) const {
  const std::size_t nodes = shapes_.size();
  if (!finished_ || has_background() || costs.bytes.size() != nodes ||
      costs.latency_s.size() != nodes || costs.rate_cap_Bps.size() != nodes ||
      costs.repeat.size() != nodes || costs.capacity_Bps.size() != link_capacity_Bps_.size()) {
    throw std::logic_error("TransferGraph: with_costs before finish, or of another graph");
  }
  TransferGraph copy;
  copy.link_capacity_Bps_ = std::move(costs.capacity_Bps);
  copy.dependencies_ = dependencies_;
  copy.many_dependencies_ = many_dependencies_;
  copy.route_offset_ = route_offset_;
  copy.route_links_ = route_links_;
  copy.route_loads_ = route_loads_;
  copy.choices_ = choices_;
  copy.first_way_ = first_way_;
  copy.way_offset_ = way_offset_;
  copy.way_links_ = way_links_;
  copy.edges_ = edges_;
  copy.folded_ = folded_;
  copy.link_units_ = link_units_;
  copy.hold_offset_ = hold_offset_;
  copy.holds_ = holds_;
  if (nodes <= NodeShapes::kOwn) copy.shapes_.reserve(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const NodeShape& own = shapes_[static_cast<TransferId>(node)];
    const std::int32_t repeat = costs.repeat[node];
    copy.shapes_.add({costs.bytes[node], costs.latency_s[node], costs.rate_cap_Bps[node], own.route,
                      own.overlapping() ? -repeat : repeat});
    copy.firings_ += repeat;
    copy.flow_firings_ += own.route >= 0 ? repeat : 0;
    copy.folded_ = copy.folded_ || repeat > 1;
  }
  copy.shapes_.finish();
  if (copy.folded_) copy.edges_.add_lags();
  copy.raise_latencies();
  copy.finished_ = true;
  return copy;
}

bool TransferGraph::same_network(const TransferGraph& other) const {
  return link_capacity_Bps_ == other.link_capacity_Bps_ && route_offset_ == other.route_offset_ &&
         route_links_ == other.route_links_ && route_loads_ == other.route_loads_ &&
         choices_ == other.choices_ && first_way_ == other.first_way_ &&
         way_offset_ == other.way_offset_ && way_links_ == other.way_links_;
}

}  // namespace cclgym
