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
  for (std::size_t node = 0; node < at(first_background()); ++node) {
    copy.repeat_[node] = std::min(repeat_[node], repeat);
    copy.firings_ += copy.repeat_[node];
    copy.flow_firings_ += route_of_[node] >= 0 ? copy.repeat_[node] : 0;
  }
  return copy;
}

TransferGraph TransferGraph::with_costs(Costs costs) const {
  const std::size_t nodes = bytes_.size();
  if (!finished_ || has_background() || costs.bytes.size() != nodes ||
      costs.latency_s.size() != nodes || costs.rate_cap_Bps.size() != nodes ||
      costs.repeat.size() != nodes || costs.capacity_Bps.size() != link_capacity_Bps_.size()) {
    throw std::logic_error("TransferGraph: with_costs before finish, or of another graph");
  }
  TransferGraph copy;
  copy.bytes_ = std::move(costs.bytes);
  copy.latency_s_ = std::move(costs.latency_s);
  copy.rate_cap_Bps_ = std::move(costs.rate_cap_Bps);
  copy.repeat_ = std::move(costs.repeat);
  copy.link_capacity_Bps_ = std::move(costs.capacity_Bps);
  copy.overlapping_ = overlapping_;
  copy.route_of_ = route_of_;
  copy.dependencies_ = dependencies_;
  copy.route_offset_ = route_offset_;
  copy.route_links_ = route_links_;
  copy.route_loads_ = route_loads_;
  copy.choices_ = choices_;
  copy.first_way_ = first_way_;
  copy.way_offset_ = way_offset_;
  copy.way_links_ = way_links_;
  copy.edge_offset_ = edge_offset_;
  copy.edges_ = edges_;
  copy.folded_ = folded_;
  copy.link_units_ = link_units_;
  copy.hold_offset_ = hold_offset_;
  copy.holds_ = holds_;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::int32_t repeat = copy.repeat_[node];
    copy.firings_ += repeat;
    copy.flow_firings_ += route_of_[node] >= 0 ? repeat : 0;
    copy.folded_ = copy.folded_ || repeat > 1;
  }
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
