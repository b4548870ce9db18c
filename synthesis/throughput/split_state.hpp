// The graph while switches are removed from it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "synthesis/throughput/split.hpp"

namespace cclgym::synthesis {

/// An edge between any two nodes that are left.
struct Cable {
  std::int64_t units = 0;
  std::vector<SplitPath> paths{};
};

/// Nodes and edges that are left, the demand that they must support, and the two elementary steps.
class SplitState {
 public:
  SplitState(const FlowGraph& graph, const std::vector<std::int64_t>& capacities,
             const std::vector<std::int64_t>& counts, const std::vector<int>& members);

  [[nodiscard]] int nodes() const { return static_cast<int>(out_.size()); }
  [[nodiscard]] const std::vector<int>& members() const { return members_; }
  [[nodiscard]] bool is_member(int node) const {
    return is_member_[static_cast<std::size_t>(node)] != 0;
  }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  [[nodiscard]] std::int64_t demand() const { return demand_; }  ///< sum of all counts

  [[nodiscard]] const std::map<int, Cable>& out(int node) const {
    return out_[static_cast<std::size_t>(node)];
  }
  /// Sources of the edges that reach a node.
  [[nodiscard]] std::vector<int> sources(int node) const;
  [[nodiscard]] std::vector<int> targets(int node) const;
  [[nodiscard]] std::int64_t units(int source, int target) const;
  /// Number of edges at a node.
  [[nodiscard]] std::size_t degree(int node) const;

  /// Moves units of the edges (u, w) and (w, t) to the edge (u, t); for t = u they are dropped.
  void split(int u, int w, int t, std::int64_t units);
  /// Drops units of an edge.
  void drop(int source, int target, std::int64_t units);
  /// Drops all edges of a node.
  void isolate(int node);

  /// True if the members can still send their counts to each member.
  [[nodiscard]] bool holds() const;

 private:
  [[nodiscard]] std::vector<SplitPath> take(int source, int target, std::int64_t units);
  void add(int source, int target, SplitPath path);

  std::vector<int> members_;
  std::vector<char> is_member_;
  std::vector<std::int64_t> counts_;
  std::int64_t demand_ = 0;
  std::vector<std::map<int, Cable>> out_;  // by source, by target
  std::vector<std::map<int, char>> in_;    // by target, by source: which edges there are
};

/// Removes a node by spreading its capacity evenly over pairs of neighbours, those that are not
/// near each other first. Capacity without a partner is dropped, and the throughput may fall: the
/// caller checks it.
void split_evenly(SplitState& state, int node);

/// Removes a node without a loss of throughput. Returns false if that is impossible, which happens
/// only if the node receives more or less than it sends (is_balanced()).
[[nodiscard]] bool split_exactly(SplitState& state, int node);

}  // namespace cclgym::synthesis
