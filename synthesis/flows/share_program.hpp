// Parts of the linear program of AllReduce: its columns, its rows, and the flows that find its
// cuts.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/index.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

/// Columns of the linear program by participant and by (direction, edge): members of an
/// orbit share a column.
struct ShareColumns {
  std::vector<int> of_node;                 // by node; -1: takes no part
  std::array<std::vector<int>, 2> of_edge;  // by direction (gather, reduce) and edge
  std::vector<int> share_sizes;             // participants, by share column
  int capacities = 0;                       // number of capacity columns, after the shares
  std::vector<int> targets;                 // one participant per orbit
  bool duplex = false;  // reduce is gather in reverse, so cuts of one direction suffice
};

[[nodiscard]] ShareColumns make_share_columns(const FlowGraph& graph,
                                              const AllReduceOptions& options);

/// Rows of orbits: merges the terms of equal columns and drops rows that are there already.
class RowSet {
 public:
  explicit RowSet(ExactProgram& program) : program_(&program) {}

  void add(int column, std::int64_t coefficient) { row_[column] += coefficient; }
  /// Ends the row; false if there was an equal one.
  bool finish(std::optional<std::int64_t> lower, std::int64_t upper) {
    std::vector<ExactTerm> terms;
    std::vector<std::int64_t> key{lower ? 1 : 0, upper};
    for (const auto& [column, coefficient] : row_) {
      if (coefficient == 0) continue;
      terms.push_back({column, coefficient});
      key.push_back(column);
      key.push_back(coefficient);
    }
    row_.clear();
    if (terms.empty() || !known_.insert(std::move(key)).second) return false;
    program_->add_row(std::move(terms), lower, upper);
    return true;
  }

 private:
  ExactProgram* program_;
  std::map<int, std::int64_t> row_;
  std::set<std::vector<std::int64_t>> known_;
};

/// Adds the columns, the rows of the links' capacities, and those of nodes that do not compute.
void add_capacity_rows(const FlowGraph& graph, const AllReduceOptions& options,
                       const ShareColumns& columns, ExactProgram& program, RowSet& rows);

/// Adds the row of a cut; false if there was an equal one. Throws UserError if the cut has another
/// number of nodes than the graph or leaves out no participant.
bool add_cut_row(const FlowGraph& graph, const ShareColumns& columns, const ShareCut& cut,
                 RowSet& rows);

/// Flow of all shares to one participant, through the capacities of one direction.
class ShareFlow {
 public:
  ShareFlow(const FlowGraph& graph, const ShareColumns& columns, bool reduce)
      : reduce_(reduce), nodes_(graph.nodes), flow_(graph.nodes + 1) {
    for (const FlowEdge& edge : graph.edges) {
      edges_.push_back(reduce ? flow_.add_edge(edge.target, edge.source)
                              : flow_.add_edge(edge.source, edge.target));
    }
    for (int rank = 0; rank < graph.ranks; ++rank) {
      if (columns.of_node[at(rank)] < 0) continue;
      feeds_.push_back(flow_.add_edge(graph.nodes, rank));
      ranks_.push_back(rank);
    }
  }

  /// Shares by rank and capacities by edge, in the same unit.
  void set(const std::vector<std::int64_t>& shares, const std::vector<std::int64_t>& capacities) {
    total_ = 0;
    for (std::size_t k = 0; k < feeds_.size(); ++k) {
      flow_.set_capacity(feeds_[k], shares[at(ranks_[k])], 0);
      total_ += shares[at(ranks_[k])];
    }
    for (std::size_t k = 0; k < edges_.size(); ++k) flow_.set_capacity(edges_[k], capacities[k], 0);
  }

  /// A cut through which less than all shares but `slack` reach the target; none if they do.
  std::optional<ShareCut> violated(int target, std::int64_t slack) {
    if (flow_.solve(nodes_, target) >= total_ - slack) return std::nullopt;
    const std::vector<bool> side = flow_.source_side();
    ShareCut cut{.reduce = reduce_};
    cut.side.assign(side.begin(), side.begin() + nodes_);
    return cut;
  }

 private:
  bool reduce_;
  int nodes_;
  MaxFlow flow_;
  std::vector<int> edges_;
  std::vector<int> feeds_;
  std::vector<int> ranks_;  // by feed
  std::int64_t total_ = 0;
};

}  // namespace cclgym::synthesis
