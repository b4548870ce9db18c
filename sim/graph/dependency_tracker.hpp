// Dependency counters, shared by all engines: decides which node may fire next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Follows the dependencies of one TransferGraph through successive runs.
///
/// Contract with the engine: a node that is reported ready counts as started at once, and the
/// engine calls `done` for it exactly once, but not from within the report. Ready nodes are
/// reported in a fixed order: the successors of a node in the order of its edges, then the node
/// itself (its next firing).
///
/// A plain graph costs one counter per node, re-armed by one copy. A folded graph stores, per node,
/// the firings done and the dependencies that the next firing still waits for; edges need no
/// tokens, because "firing i of v waits for firing i - lag of u" is `done(u) + lag > i`.
class DependencyTracker {
 public:
  /// Maximum number of firings of the background in one run, set by hand: engine flow takes seconds
  /// for them, and engine simgrid minutes.
  static constexpr std::int64_t kMostBackgroundFirings = 20'000'000;

  /// The graph must be finished. Allocates; the runs do not.
  void load(std::shared_ptr<const TransferGraph> graph);

  /// Returns to the state before the first firing.
  void reset();

  /// Calls ready(node) for every node without dependencies, ascending.
  template <class OnReady>
  void start_roots(OnReady&& ready);

  /// The current firing of `node` is done; calls ready(successor) for each node that this frees.
  /// Throws SimulationStalled after kMostBackgroundFirings.
  template <class OnReady>
  void done(TransferId node, OnReady&& ready);

  /// Index of the current firing of `node` (0 for a plain graph).
  [[nodiscard]] std::int32_t iteration(TransferId node) const {
    return folded_ ? static_cast<std::int32_t>(fired_[at(node)]) : 0;
  }

  /// Number of unfinished firings, without the background.
  [[nodiscard]] std::int64_t left() const { return left_; }

  /// Throws GraphStalled naming the nodes with unfinished firings. Call when nothing runs and
  /// left() > 0.
  [[noreturn]] void throw_stalled() const;

 private:
  struct Incoming {
    TransferId source;
    std::int32_t lag;
  };
  static bool holds_back_once(std::int32_t lag) {
    return lag == TransferGraph::kFirstOnly || lag == TransferGraph::kAfterLast;
  }
  void load_folded();
  [[noreturn]] static void throw_endless();
  /// A firing of `node` starts: counts the dependencies of its next firing (including itself).
  void begin(TransferId node);

  std::shared_ptr<const TransferGraph> graph_;
  bool folded_ = false;
  std::int64_t left_ = 0;
  TransferId first_background_ = 0;
  std::int64_t background_firings_ = 0;
  std::vector<std::int32_t> missing_;        ///< by node: unmet dependencies of its next firing
  std::vector<std::int32_t> missing_first_;  ///< initial value of missing_
  // Folded graphs only.
  std::vector<std::int64_t> fired_;    ///< by node: firings done
  std::vector<std::int64_t> waiting_;  ///< by node: index of the next firing to start
  std::vector<std::size_t> incoming_offset_;
  std::vector<Incoming> incoming_;
};

template <class OnReady>
void DependencyTracker::start_roots(OnReady&& ready) {
  const std::int32_t nodes = graph_->size();
  for (TransferId node = 0; node < nodes; ++node) {
    if (!folded_) {
      if (missing_[at(node)] == 0) ready(node);
      continue;
    }
    while (missing_[at(node)] == 0) {
      begin(node);
      ready(node);
    }
  }
}

template <class OnReady>
void DependencyTracker::done(TransferId node, OnReady&& ready) {
  if (!folded_) {
    --left_;
    for (const TransferGraph::Edge& edge : graph_->successors(node)) {
      if (--missing_[at(edge.target)] == 0) {
        ready(edge.target);
      }
    }
    return;
  }
  if (node < first_background_) {
    --left_;
  } else if (++background_firings_ > kMostBackgroundFirings) {
    throw_endless();
  }
  const std::int64_t iteration = fired_[at(node)]++;
  const auto successors = graph_->successors(node);
  bool freed = false;
  for (const TransferGraph::Edge& edge : successors) {
    // kFirstOnly and kAfterLast hold back only the target's first firing, and one firing of this
    // node frees it.
    const bool once = holds_back_once(edge.lag);
    const std::int64_t freed_firing = once ? 0 : iteration + edge.lag;
    const std::int64_t freeing =
        edge.lag == TransferGraph::kAfterLast ? graph_->repeat(node) - 1 : 0;
    if ((!once || iteration == freeing) && waiting_[at(edge.target)] == freed_firing) {
      freed = --missing_[at(edge.target)] == 0 || freed;
    }
  }
  // Implicit edge of lag 1 from the node to itself: firings are strictly in order.
  const bool overlapping = graph_->overlapping(node);
  if (!overlapping && iteration + 1 < graph_->repeat(node)) {
    --missing_[at(node)];
  }
  // This is a second pass, because two edges may join the same two nodes with different lags:
  // `begin` must not read the firings done before every edge has been counted.
  if (freed) {
    for (const TransferGraph::Edge& edge : successors) {
      while (missing_[at(edge.target)] == 0) {
        begin(edge.target);
        ready(edge.target);
      }
    }
  }
  if (!overlapping && missing_[at(node)] == 0) {
    begin(node);
    ready(node);
  }
}

inline void DependencyTracker::begin(TransferId node) {
  const std::int64_t next = ++waiting_[at(node)];
  // Implicit edge from the node to itself: an overlapping node does not wait for its previous
  // firing. The count of 1 after its final firing keeps it from starting again.
  std::int32_t missing = graph_->overlapping(node) && next < graph_->repeat(node) ? 0 : 1;
  for (std::size_t i = incoming_offset_[at(node)]; i < incoming_offset_[at(node) + 1]; ++i) {
    if (holds_back_once(incoming_[i].lag)) continue;
    missing += fired_[at(incoming_[i].source)] + incoming_[i].lag <= next ? 1 : 0;
  }
  missing_[at(node)] = missing;
}

}  // namespace cclgym
