#include "sim/graph/dependency_tracker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "sim/graph/graph_stalled.hpp"

namespace cclgym {

void DependencyTracker::check(const TransferGraph* graph) {
  if (graph == nullptr || !graph->finished()) {
    throw std::logic_error("an engine was given a transfer graph that is not finished");
  }
  for (TransferId node = 0; graph->folded() && node < graph->first_background(); ++node) {
    if (graph->repeat(node) == TransferGraph::kForever) {
      throw std::logic_error(
          fmt::format("transfer graph: node {} fires forever, but is not a background node", node));
    }
  }
}

void DependencyTracker::load(std::shared_ptr<const TransferGraph> graph) {
  check(graph.get());
  graph_ = std::move(graph);
  folded_ = graph_->folded();
  first_background_ = graph_->first_background();
  const auto nodes = static_cast<std::size_t>(graph_->size());
  if (folded_) {
    missing_first_.resize(nodes);
    graph_->copy_dependencies(missing_first_);
    load_folded();
    missing_ = {};
  } else {
    nodes_ = {};
    missing_first_ = {};
    first_counted_ = {};
    incoming_ = {};
    missing_.resize(nodes);
  }
  reset();
}

void DependencyTracker::load_folded() {
  const auto nodes = static_cast<std::size_t>(graph_->size());
  std::vector<std::uint32_t> next(nodes + 1, 0);
  for (TransferId node = 0; node < graph_->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      ++next[at(edge.target) + 1];
      if (edge.lag > 0 && edge.lag != TransferGraph::kFirstOnly) {
        --missing_first_[at(edge.target)];
      }
    }
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  nodes_.resize(nodes);
  first_counted_.assign(nodes, 0);
  for (TransferId id = 0; id < graph_->size(); ++id) {
    const auto edges = static_cast<std::uint32_t>(graph_->first_edge(id));
    nodes_[at(id)] = {
        .missing = 0,
        .fired = 0,
        .waiting = 0,
        .repeat = graph_->overlapping(id) ? -graph_->repeat(id) : graph_->repeat(id),
        .incoming = next[at(id)],
        .incoming_end = next[at(id) + 1],
        .edges = edges,
        .edges_end = edges + static_cast<std::uint32_t>(graph_->successors(id).size()),
        .counted = 0,
        .counts_from = 0,
        .done = {}};
  }
  edges_ = graph_->lagged_edges();
  incoming_.resize(graph_->edges());
  for (TransferId node = 0; node < graph_->size(); ++node) {
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      incoming_[next[at(edge.target)]++] = {node, edge.lag};
      if (holds_back_once(edge.lag)) continue;
      std::int32_t& from = first_counted_[at(edge.target)];
      if (from != kNever) from = std::max(from, edge.lag);
      if (++nodes_[at(edge.target)].counted > kMostCounted) from = kNever;
    }
  }
}

void DependencyTracker::reset() {
  left_ = graph_->firings();
  background_firings_ = 0;
  if (!folded_) {
    graph_->copy_dependencies(missing_);
    return;
  }
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    nodes_[id].missing = missing_first_[id];
    nodes_[id].fired = nodes_[id].waiting = 0;
    nodes_[id].counts_from = first_counted_[id];
    nodes_[id].done = {};
  }
}

void DependencyTracker::throw_stalled() const {
  constexpr std::size_t kNamed = 8;
  std::vector<TransferId> waiting;
  for (TransferId node = 0; node < first_background_; ++node) {
    // In a plain graph all nodes without dependencies are done by now.
    if (folded_ ? nodes_[at(node)].fired < graph_->repeat(node) : missing_[at(node)] > 0) {
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
