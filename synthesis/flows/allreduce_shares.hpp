// Optimal AllReduce by trees: every rank reduces and broadcasts a share of the data, in-trees and
// out-trees use the links side by side, and shares and link capacities are chosen together.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/flows/exact_program.hpp"
#include "synthesis/flows/graph_orbits.hpp"
#include "synthesis/solvers/deadline.hpp"

namespace cclgym::synthesis {

/// A set of nodes that leaves out some rank: the shares of its ranks pass through its edges to the
/// other nodes (out-trees), or through the edges from them (in-trees).
struct ShareCut {
  bool reduce = false;       ///< about the in-trees
  std::vector<char> side{};  ///< by node: true if it is in the set
  friend auto operator<=>(const ShareCut&, const ShareCut&) = default;
};

/// Optimal shares, in parts: all trees carry one part each. `gather_units` and `reduce_units`
/// suffice for `counts` out-trees and in-trees, so that trees can be packed into them separately.
struct AllReduceShares {
  Rational algbw{0};                   ///< data per time, in link units: the sum of the shares
  std::vector<std::int64_t> counts{};  ///< parts of each root, by rank; 0 outside the group
  std::vector<std::int64_t> gather_units{};  ///< parts of the out-trees, by edge
  std::vector<std::int64_t> reduce_units{};  ///< parts of the in-trees, by edge
  std::int64_t parts_per_unit = 1;           ///< gather + reduce <= units of the edge times this
  std::vector<ShareCut> cuts{};              ///< the cuts of the linear program, in order
  /// Proof that no shares have a larger sum: its bound is -algbw.
  DualCertificate certificate{};
};

struct AllReduceOptions {
  std::vector<int> group{};               ///< participating ranks, ascending; empty: all
  std::vector<Permutation> symmetries{};  ///< generators; the solution is invariant
  Deadline deadline{};
  /// Max iterations of the simplex method; unlike the time, they are the same on every machine. 0:
  /// no limit.
  std::int64_t max_iterations = 0;
};

/// The maximum of the sum of shares x_v, subject to gather + reduce <= units on every edge, and
/// x(S) <= gather(edges out of S) for every node set S that leaves out some participant, and the
/// same for reduce with edges reversed. Nodes that do not compute, and ranks outside the group,
/// pass on what they receive. Cuts are found by maximum flow; the result is checked against all
/// cuts in whole numbers.
///
/// Throws UserError if a rank cannot reach another, or if there is no proven optimum before the
/// deadline or within the iterations; the message has the bounds.
[[nodiscard]] AllReduceShares allreduce_shares(const FlowGraph& graph,
                                               const AllReduceOptions& options = {});

/// The linear program over the cuts: one column per orbit of participants, and of edges for each
/// direction; a graph whose edges are all duplex uses the same capacities in reverse for the other
/// direction.
[[nodiscard]] ExactProgram allreduce_program(const FlowGraph& graph,
                                             const AllReduceOptions& options,
                                             const std::vector<ShareCut>& cuts);

/// Verifies shares without a solver: capacities and conservation in whole numbers, the flow to
/// every participant in both directions, and the certificate, whose program must be the one that
/// belongs to the graph and the cuts. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_allreduce_shares(const FlowGraph& graph,
                                                 const AllReduceOptions& options,
                                                 const AllReduceShares& shares);

}  // namespace cclgym::synthesis
