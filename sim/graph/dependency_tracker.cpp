#include "sim/graph/dependency_tracker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "sim/graph/graph_stalled.hpp"

namespace cclgym {

void DependencyTracker::load(std::shared_ptr<const TransferGraph> graph) {
  if (graph == nullptr || !graph->finished()) {
    throw std::logic_error("an engine was given a transfer graph that is not finished");
  }
  graph_ = std::move(graph);
  folded_ = graph_->folded();
  first_background_ = graph_->first_background();
  const auto nodes = static_cast<std::size_t>(graph_->size());
  missing_first_.assign(nodes, 0);
  for (TransferId node = 0; node < graph_->size(); ++node) {
    missing_first_[at(node)] = graph_->dependencies(node);
    if (node < first_background_ && graph_->repeat(node) == TransferGraph::kForever) {
      throw std::logic_error(
          fmt::format("transfer graph: node {} fires forever, but is not a background node", node));
    }
  }
  if (folded_) {
    load_folded();
  } else {
    fired_ = {};
    waiting_ = {};
    incoming_offset_ = {};
    incoming_ = {};
  }
  missing_.resize(nodes);
  reset();
}

void DependencyTracker::load_folded() {
  const auto nodes = static_cast<std::size_t>(graph_->size());
  incoming_offset_.assign(nodes + 1, 0);
  for (TransferId node = 0; node < graph_->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      ++incoming_offset_[at(edge.target) + 1];
      if (edge.lag > 0 && edge.lag != TransferGraph::kFirstOnly) {
        --missing_first_[at(edge.target)];
      }
    }
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    incoming_offset_[node + 1] += incoming_offset_[node];
  }
  std::vector<std::size_t> next(incoming_offset_.begin(), incoming_offset_.end() - 1);
  incoming_.resize(graph_->edges());
  for (TransferId node = 0; node < graph_->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      incoming_[next[at(edge.target)]++] = {node, edge.lag};
    }
  }
  fired_.resize(nodes);
  waiting_.resize(nodes);
}

void DependencyTracker::reset() {
  left_ = graph_->firings();
  background_firings_ = 0;
  std::copy(missing_first_.begin(), missing_first_.end(), missing_.begin());
  std::fill(fired_.begin(), fired_.end(), 0);
  std::fill(waiting_.begin(), waiting_.end(), 0);
}

void DependencyTracker::throw_stalled() const {
  constexpr std::size_t kNamed = 8;
  std::vector<TransferId> waiting;
  for (TransferId node = 0; node < first_background_; ++node) {
    // In a plain graph all nodes without dependencies are done by now.
    if (folded_ ? fired_[at(node)] < graph_->repeat(node) : missing_[at(node)] > 0) {
      waiting.push_back(node);
    }
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, waiting.size()); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", waiting[i]);
  }
  if (waiting.size() > kNamed) {
    names += ", ...";
  }
  const std::string message =
      fmt::format("the transfer graph stalled: {} of {} nodes wait forever (nodes {})",
                  waiting.size(), first_background_, names);
  throw GraphStalled(message, std::move(waiting));
}

void DependencyTracker::throw_endless() {
  throw SimulationStalled(fmt::format(
      "the simulation was given up: other jobs on the fabric have sent {} messages, and "
      "the call has not ended; they need more bytes or longer pauses",
      kMostBackgroundFirings));
}

}  // namespace cclgym
