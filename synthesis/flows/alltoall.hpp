// Optimal AllToAll by flows: the maximum concurrent flow with one commodity per source, exactly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "synthesis/flows/exact_program.hpp"
#include "synthesis/flows/graph_orbits.hpp"
#include "synthesis/solvers/deadline.hpp"

namespace cclgym::synthesis {

/// Part of the data from one rank to another, and its path.
struct FlowPath {
  int source = 0;            ///< rank
  int target = 0;            ///< rank
  Rational share{1};         ///< part of the pair's data
  std::vector<int> nodes{};  ///< from the source to the target, both included
};

/// Proof in terms of the graph alone: give every edge a length. A unit of data from s to t covers
/// at least their distance, so the total over all pairs, divided by the sum of units * length, is a
/// lower bound on the time.
struct EdgeLengths {
  std::vector<std::int64_t> lengths{};  ///< by edge, >= 0
};

struct AllToAllFlow {
  /// Time in rounds for one chunk per pair; in one round, one link unit carries one chunk.
  Rational rounds{0};
  std::vector<FlowPath> paths{};  ///< by source and target, ascending; empty if not asked for
  DualCertificate certificate{};  ///< about alltoall_program; bound: `rounds`
  EdgeLengths lengths{};          ///< a proof of the same bound without the linear program
};

struct AllToAllOptions {
  std::vector<int> group{};  ///< participating ranks, ascending; empty: all
  /// Generators of a group of symmetries (automorphism_group of coloured_digraph); the flow is
  /// invariant.
  std::vector<Permutation> symmetries{};
  bool paths = true;
  Deadline deadline{};
};

/// Minimum time of AllToAll over all fractional routings, with proof. Throws UserError if a rank
/// cannot reach another, if there is no proven optimum before the deadline, or if the symmetries
/// are unsuitable.
[[nodiscard]] AllToAllFlow alltoall_flow(const FlowGraph& graph,
                                         const AllToAllOptions& options = {});

/// The linear program: minimum rounds; one source per orbit of ranks, one column per orbit of edges
/// under the symmetries that fix it, and one capacity row per orbit of edges, which loses nothing:
/// the average of a solution over all symmetries is a solution.
[[nodiscard]] ExactProgram alltoall_program(const FlowGraph& graph, const AllToAllOptions& options);

/// Verifies a result without a solver: paths, shares and loads in exact arithmetic, the
/// certificate, and the lengths by shortest paths. Returns the first problem in words; empty if
/// there is none.
[[nodiscard]] std::string check_alltoall_flow(const FlowGraph& graph,
                                              const AllToAllOptions& options,
                                              const AllToAllFlow& flow);

/// Parts of the data of pairs (source, target) that arrive.
using PairShares = std::map<std::pair<int, int>, Rational>;

/// Verifies that all data of every pair of participants arrives, exactly once, and that there are
/// no other pairs. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_shares(const FlowGraph& graph, const std::vector<int>& group,
                                       const PairShares& shares);

/// Lower bound on the rounds that lengths prove, by shortest paths. Throws UserError for lengths
/// that are negative, all 0, or too large for 64 bits, or if a rank cannot reach another.
[[nodiscard]] Rational bound_of_lengths(const FlowGraph& graph, const std::vector<int>& group,
                                        const EdgeLengths& lengths);

}  // namespace cclgym::synthesis
