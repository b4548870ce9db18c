// Dependency counters, shared by all engines: decides which node may fire next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
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
/// A plain graph costs one counter per node, re-armed by a copy of the graph's. A folded graph
/// stores, per node, the firings done and the dependencies that the next firing still waits for.
/// Edges need no tokens, because "firing i of v waits for firing i - lag of u" is `done(u) + lag >
/// i`; but as reading all u is slow in large graphs, a node counts the dependencies of its next few
/// firings as they are done, until one is further ahead.
class DependencyTracker {
 public:
  /// Maximum number of firings of the background in one run, set by hand: engine flow takes seconds
  /// for them, and engine simgrid minutes.
  static constexpr std::int64_t kMostBackgroundFirings = 20'000'000;

  /// Throws std::logic_error if a graph is null or not finished, or if a node that is not in the
  /// background fires forever.
  static void check(const TransferGraph* graph);

  /// The graph must pass the check. Allocates; the runs do not.
  void load(std::shared_ptr<const TransferGraph> graph);

  /// Returns to the state before the first firing.
  void reset();

  /// Calls ready(node) for every node without dependencies, ascending.
  template <class OnReady>
  void start_roots(OnReady&& ready);

  /// The current firing of `id` is done; calls ready(successor) for each node that this frees.
  /// Throws SimulationStalled after kMostBackgroundFirings.
  template <class OnReady>
  void done(TransferId id, OnReady&& ready);

  /// Index of the current firing of `node` (0 for a plain graph).
  [[nodiscard]] std::int32_t iteration(TransferId node) const {
    return folded_ ? nodes_[at(node)].fired : 0;
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
  /// Number of firings ahead for which a node counts dependencies that are done.
  static constexpr std::int32_t kAhead = 16;
  /// State of a node of a folded graph in one cache line: a firing touches its node and its
  /// successors, which are far apart in large graphs.
  struct alignas(64) Node {
    std::int32_t missing;    ///< unmet dependencies of its next firing
    std::int32_t fired;      ///< firings done
    std::int32_t waiting;    ///< index of the next firing to start
    std::int32_t repeat;     ///< TransferGraph::repeat; negative if the node is overlapping
    std::uint32_t incoming;  ///< its dependencies are incoming_[incoming .. incoming_end)
    std::uint32_t incoming_end;
    std::uint32_t edges;  ///< its successors are edges_[edges .. edges_end)
    std::uint32_t edges_end;
    std::int32_t counted;      ///< dependencies of each firing
    std::int32_t counts_from;  ///< first firing that has all of them; kNever: does not count
    std::array<std::uint8_t, kAhead> done;  ///< by firing modulo kAhead: those done, if it counts
    [[nodiscard]] bool overlapping() const { return repeat < 0; }
    [[nodiscard]] std::int32_t firings() const { return repeat < 0 ? -repeat : repeat; }
  };
  static constexpr std::int32_t kMostCounted = std::numeric_limits<std::uint8_t>::max();
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  static bool holds_back_once(std::int32_t lag) {
    return lag == TransferGraph::kFirstOnly || lag == TransferGraph::kAfterLast;
  }
  void load_folded();
  [[noreturn]] static void throw_endless();
  /// A firing of `node` starts: counts the dependencies of its next firing (including itself).
  void begin(Node& node);

  std::shared_ptr<const TransferGraph> graph_;
  bool folded_ = false;
  std::int64_t left_ = 0;
  TransferId first_background_ = 0;
  std::int64_t background_firings_ = 0;
  std::vector<std::int32_t> missing_;  ///< plain graphs: unmet dependencies, by node
  // Folded graphs only.
  std::vector<Node> nodes_;
  std::vector<std::int32_t> missing_first_;  ///< by node: dependencies of the first firing
  std::vector<std::int32_t> first_counted_;  ///< by node: Node::counts_from at the start
  std::vector<Incoming> incoming_;
  std::span<const TransferGraph::Edge> edges_;
};

template <class OnReady>
void DependencyTracker::start_roots(OnReady&& ready) {
  const std::int32_t nodes = graph_->size();
  for (TransferId node = 0; node < nodes; ++node) {
    if (!folded_) {
      if (missing_[at(node)] == 0) ready(node);
      continue;
    }
    while (nodes_[at(node)].missing == 0) {
      begin(nodes_[at(node)]);
      ready(node);
    }
  }
}

template <class OnReady>
void DependencyTracker::done(TransferId id, OnReady&& ready) {
  if (!folded_) {
    --left_;
    for (const TransferId target : graph_->targets(id)) {
      if (--missing_[at(target)] == 0) {
        ready(target);
      }
    }
    return;
  }
  if (id < first_background_) {
    --left_;
  } else if (++background_firings_ > kMostBackgroundFirings) {
    throw_endless();
  }
  Node& node = nodes_[at(id)];
  const std::int32_t iteration = node.fired++;
  const auto successors = edges_.subspan(node.edges, node.edges_end - node.edges);
  bool freed = false;
  for (const TransferGraph::Edge& edge : successors) {
    // kFirstOnly and kAfterLast hold back only the target's first firing, and one firing of this
    // node frees it.
    const bool once = holds_back_once(edge.lag);
    const std::int64_t freed_firing = once ? 0 : std::int64_t{iteration} + edge.lag;
    const std::int32_t freeing = edge.lag == TransferGraph::kAfterLast ? node.firings() - 1 : 0;
    Node& target = nodes_[at(edge.target)];
    if (once && iteration != freeing) continue;
    if (target.waiting == freed_firing) {
      freed = --target.missing == 0 || freed;
    } else if (!once && target.counts_from != kNever && freed_firing > target.waiting) {
      if (freed_firing - target.waiting < kAhead) {
        ++target.done[at(freed_firing) % kAhead];
      } else {
        target.counts_from = kNever;
      }
    }
  }
  // Implicit edge of lag 1 from the node to itself: firings are strictly in order.
  if (iteration + 1 < node.repeat) --node.missing;
  // This is a second pass, because two edges may join the same two nodes with different lags:
  // `begin` must not read the firings done before every edge has been counted.
  if (freed) {
    for (const TransferGraph::Edge& edge : successors) {
      while (nodes_[at(edge.target)].missing == 0) {
        begin(nodes_[at(edge.target)]);
        ready(edge.target);
      }
    }
  }
  if (!node.overlapping() && node.missing == 0) {
    begin(node);
    ready(id);
  }
}

inline void DependencyTracker::begin(Node& node) {
  const std::int32_t next = ++node.waiting;
  // Implicit edge from the node to itself: an overlapping node does not wait for its previous
  // firing. The count of 1 after its final firing keeps it from starting again.
  std::int32_t missing = node.overlapping() && next < node.firings() ? 0 : 1;
  std::uint8_t& done = node.done[at(next) % kAhead];
  const std::int32_t known = std::exchange(done, std::uint8_t{0});
  if (next >= node.counts_from) {
    node.missing = missing + node.counted - known;
    return;
  }
  for (std::uint32_t i = node.incoming; i < node.incoming_end; ++i) {
    if (holds_back_once(incoming_[i].lag)) continue;
    const std::int64_t reached =
        std::int64_t{nodes_[at(incoming_[i].source)].fired} + incoming_[i].lag;
    missing += reached <= next ? 1 : 0;
  }
  node.missing = missing;
}

}  // namespace cclgym
