// Maximum flow with whole-number capacities.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace cclgym {

/// A flow network whose capacities may change between solutions (Dinic's algorithm). Copies are
/// independent. Equal calls give equal flows and cuts.
class MaxFlow {
 public:
  /// A flow that restore() can return to.
  using State = std::vector<std::int64_t>;
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  /// Capacity of an edge that is never full.
  static constexpr std::int64_t kEndless = std::int64_t{1} << 61;

  explicit MaxFlow(int nodes) : nodes_(nodes) {}

  /// Adds an edge and returns its index; discards the flow.
  int add_edge(int u, int v, std::int64_t forwards = 0, std::int64_t backwards = 0);
  /// Sets the capacities u -> v and v -> u of an edge, each >= 0 and at most kEndless. The maximum
  /// flow must stay below 2^62. Between solve() and augment(), only edges without flow may change.
  void set_capacity(int edge, std::int64_t forwards, std::int64_t backwards = 0);

  /// The value of a maximum flow (= minimum cut) from `source` to `sink`, or `limit` if there is
  /// that much flow: then the search stops.
  [[nodiscard]] std::int64_t solve(int source, int sink, std::int64_t limit = kNoLimit);
  /// Adds to the flow that is there; returns what it added, at most `limit`.
  [[nodiscard]] std::int64_t augment(int source, int sink, std::int64_t limit = kNoLimit);
  /// Nodes on the source's side of a minimum cut, by node, after a solution that did not reach its
  /// limit: those that more flow could reach.
  [[nodiscard]] std::vector<bool> source_side() const;

  [[nodiscard]] const State& save() const { return residual_; }
  void restore(const State& state) { residual_ = state; }
  /// Arcs visited by all solutions up to now, in proportion to their time.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  struct Edge {
    int u;
    int v;
    std::int64_t forwards;
    std::int64_t backwards;
  };
  struct Arc {
    int target;
    int twin;  // the arc in the other direction
  };

  void build();
  [[nodiscard]] bool find_levels(int source, int sink);
  [[nodiscard]] std::int64_t push(int source, int sink, std::int64_t limit);

  int nodes_ = 0;
  std::vector<Edge> edges_;
  std::vector<int> first_;     // by node: its first arc; the arcs of a node are adjacent
  std::vector<Arc> arcs_;      // empty until they are built
  std::vector<int> position_;  // by edge: its forward arc
  State capacity_;             // by arc
  State residual_;             // by arc
  std::vector<int> level_;     // by node: arcs from it to the sink; -1: unknown
  std::vector<int> next_;      // by node: the first arc that may still carry more
  std::vector<int> queue_;
  std::vector<int> path_;  // arcs from the source
  int source_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace cclgym
