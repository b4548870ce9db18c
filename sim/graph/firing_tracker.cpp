#include "sim/graph/firing_tracker.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cclgym {

namespace {

bool once(std::int32_t lag) {
  return lag == TransferGraph::kFirstOnly || lag == TransferGraph::kAfterLast;
}

}  // namespace

bool FiringTracker::fits(const TransferGraph& graph) {
  if (graph.has_background()) return false;
  std::int32_t most = 0;
  for (TransferId node = 0; node < graph.size(); ++node) {
    // The previous firing of the node is one more.
    if (graph.dependencies(node) >= std::numeric_limits<std::uint8_t>::max()) return false;
    most = std::max(most, graph.repeat(node));
  }
  const std::int64_t rows = (std::int64_t{most} + kRow - 1) / kRow;
  return rows * kRow * graph.size() <= 4 * graph.firings() + std::int64_t{kRow} * graph.size();
}

void FiringTracker::load(std::shared_ptr<const TransferGraph> graph) {
  graph_ = std::move(graph);
  nodes_ = at(graph_->size());
  left_ = graph_->firings();
  repeat_.clear();
  std::vector<std::uint8_t> every(nodes_, 0);  // dependencies of each late firing
  for (TransferId node = 0; node < graph_->size(); ++node) {
    repeat_.push_back(graph_->shapes()[node].repeat);
    if (!graph_->overlapping(node)) ++every[at(node)];
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      if (!once(edge.lag)) ++every[at(edge.target)];
    }
  }
  std::int32_t most = 0;
  for (TransferId node = 0; node < graph_->size(); ++node) {
    most = std::max(most, graph_->repeat(node));
  }
  missing_.resize(nodes_ > 0 ? place(graph_->size() - 1, most - 1) + kRow : 0);
  for (std::size_t row = 0; row < missing_.size() / kRow; ++row) {
    std::fill_n(missing_.begin() + static_cast<std::ptrdiff_t>(row * kRow), kRow,
                every[row % nodes_]);
  }
  // A node's first firing waits for every edge, also for those that hold back only this one.
  for (TransferId node = 0; node < graph_->size(); ++node) {
    missing_[place(node, 0)] = static_cast<std::uint8_t>(graph_->dependencies(node));
  }
  // The first firings of a target do not wait for an edge with a lag.
  for (TransferId node = 0; node < graph_->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      if (once(edge.lag)) continue;
      const std::int32_t free = std::min(edge.lag, graph_->repeat(edge.target));
      for (std::int32_t number = 0; number < free; ++number) {
        --missing_[place(edge.target, number)];
      }
    }
  }
}

}  // namespace cclgym
