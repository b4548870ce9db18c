// Dependency counters of every firing of a folded graph, for runs in which firings of one node
// differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// One firing of a node of a folded graph.
struct OneFiring {
  TransferId node = 0;
  std::int32_t number = 0;  ///< 0 for the first firing
};

/// Latencies of single firings, such as those of messages with jitter.
class FiringLatencies {
 public:
  virtual ~FiringLatencies() = default;
  /// False if all firings of the node have its own latency.
  [[nodiscard]] virtual bool differ(TransferId node) const = 0;
  /// Latency of a firing in seconds, >= 0; `own_s` is that of its node.
  [[nodiscard]] virtual double latency_s(const OneFiring& firing, double own_s) const = 0;
};

/// Follows the dependencies of a folded graph firing by firing, as DependencyTracker follows those
/// of a graph in which every firing is a node (unfolded()), and reports ready firings in the same
/// order; but it needs a byte per firing instead of about a hundred. Firings of an overlapping node
/// may end in any order.
class FiringTracker {
 public:
  /// True if the tracker can follow a graph: without a background, and with at most 254
  /// dependencies per node.
  [[nodiscard]] static bool fits(const TransferGraph& graph);

  /// The graph must be finished and fit.
  void load(std::shared_ptr<const TransferGraph> graph);

  /// Calls ready(firing) for each firing without dependencies, by node, then by number.
  template <class OnReady>
  void start_roots(OnReady&& ready) const {
    for (TransferId node = 0; node < graph_->size(); ++node) {
      for (std::int32_t number = 0; number < graph_->repeat(node); ++number) {
        if (missing_[place(node, number)] == 0) ready(OneFiring{node, number});
      }
    }
  }

  /// A firing is done; calls ready(firing) for each firing that this frees.
  template <class OnReady>
  void done(const OneFiring& firing, OnReady&& ready) {
    --left_;
    const auto release = [&](TransferId node, std::int32_t number) {
      if (--missing_[place(node, number)] == 0) ready(OneFiring{node, number});
    };
    const std::int32_t own = repeat_[at(firing.node)];
    const std::int32_t repeat = own < 0 ? -own : own;
    if (firing.number + 1 < own) release(firing.node, firing.number + 1);
    for (const TransferGraph::Edge& edge : graph_->successors(firing.node)) {
      if (edge.lag == TransferGraph::kFirstOnly) {
        if (firing.number == 0) release(edge.target, 0);
      } else if (edge.lag == TransferGraph::kAfterLast) {
        if (firing.number + 1 == repeat) release(edge.target, 0);
      } else if (firing.number < std::abs(repeat_[at(edge.target)]) - edge.lag) {
        release(edge.target, firing.number + edge.lag);
      }
    }
  }

  /// Number of unfinished firings.
  [[nodiscard]] std::int64_t left() const { return left_; }

 private:
  // Firings of about the same number are neighbours, since they are done at about the same date:
  // kRow firings of the first node, then of the second one, and so on, then the next kRow of each.
  static constexpr std::uint32_t kRow = 16;
  [[nodiscard]] std::size_t place(TransferId node, std::int32_t number) const {
    const auto row = static_cast<std::uint32_t>(number);
    return (row / kRow * nodes_ + at(node)) * kRow + row % kRow;
  }

  std::shared_ptr<const TransferGraph> graph_;
  std::size_t nodes_ = 0;
  std::vector<std::int32_t> repeat_;   ///< by node: number of firings; negative if they overlap
  std::vector<std::uint8_t> missing_;  ///< by place: unmet dependencies
  std::int64_t left_ = 0;
};

}  // namespace cclgym
