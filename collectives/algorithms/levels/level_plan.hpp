// Collectives over levels of ranks (cores of a node, nodes, …): the parameters, and where each
// rank's slice lies. Internal to the algorithms, except for the spelling (algorithms.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/algorithms/rank_group.hpp"
#include "collectives/ir.hpp"

namespace cclgym::algorithms {

/// Algorithm of the groups of one level.
enum class LevelAlgorithm : std::uint8_t {
  Ring,
  Recursive,        ///< doubling in AllGather, halving in ReduceScatter; a power of two of ranks
  Bruck,            ///< Bruck's AllGather, and its reverse
  BroadcastReduce,  ///< a binomial tree for every rank's run
  AllPairs
};

/// Place of the local permutation of AllGather that puts the slices in the order of the ranks.
/// ReduceScatter has the reverse order of steps.
enum class ShuffleOption : std::uint8_t {
  After,      ///< a copy kernel at the end, of the complete buffer
  Before,     ///< a copy kernel before the innermost level, whose messages then have one slice each
  Avoided,    ///< none: every message has one slice, which it brings to its final place
  Overlapped  ///< as After, but copies run while the innermost level still receives
};

/// Parameters of a collective over levels.
struct LevelPlan {
  /// Ranks of a group by level, innermost first; empty: the ranks of a node, and the nodes.
  std::vector<int> factors{};
  std::vector<LevelAlgorithm> algorithms{};  ///< by level; one for all levels if there is only one
  ShuffleOption shuffle = ShuffleOption::After;
  /// Number of groups across nodes that run at once on each node; 0: all.
  int subcomms = 0;
  /// Transport, reducer and NICs; the kernels are those of NCCL.
  CostTraits traits{.runtime = Runtime::Nccl, .transport = Transport::Mpi};
};

/// Parses the parameters of a name: "8x256:ring+recursive", "nodes:ring+bruck:avoided:subcomms=2".
/// Throws UserError that says what was found and expected, with the nearest valid name.
[[nodiscard]] LevelPlan parse_level_plan(std::string_view text);

/// Reason why the plan cannot serve a request with known nodes; nullopt if it can.
[[nodiscard]] std::optional<std::string> check_levels(const LevelPlan& plan,
                                                      const AlgorithmRequest& request);

/// A level with more than one rank in its groups.
struct Level {
  int factor;  ///< ranks of a group
  LevelAlgorithm algorithm;
  int stride;  ///< distance of a group's ranks: the product of the factors of inner levels
  int outer;   ///< product of the factors of outer levels
};

/// The levels of a request, and the two orders of the slices. In the final order, slice r is that
/// of rank r. In the packed order, the slices that a rank has after a level are adjacent: the digit
/// of the innermost level is the most significant one.
class LevelLayout {
 public:
  LevelLayout(const LevelPlan& plan, const AlgorithmRequest& request);

  [[nodiscard]] int ranks() const { return ranks_; }
  /// True if the groups of a level have one rank on each of several nodes.
  [[nodiscard]] bool crosses_nodes(int level) const { return at(level).stride >= node_; }
  /// True if MPI sends the messages of a level.
  [[nodiscard]] bool by_mpi(int level) const { return mpi_ && crosses_nodes(level); }
  /// Channels of a level's messages if those inside nodes have `channels`: MPI sends each message
  /// whole.
  [[nodiscard]] int channels(int level, int channels) const { return by_mpi(level) ? 1 : channels; }
  /// Channels of the program, and the parts into which it cuts each chunk.
  [[nodiscard]] int channels(int channels) const {
    int max = 1;
    for (int level = 0; level <= last(); ++level)
      max = std::max(max, this->channels(level, channels));
    return max;
  }
  /// Rank for which a rank's groups across nodes wait, so that no more than LevelPlan::subcomms of
  /// a node run at once; -1: none.
  [[nodiscard]] int waits_for(int rank) const {
    return subcomms_ > 0 && rank % node_ >= subcomms_ ? rank - subcomms_ : -1;
  }
  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }
  [[nodiscard]] int last() const { return static_cast<int>(levels_.size()) - 1; }
  [[nodiscard]] const Level& at(int level) const {
    return levels_[static_cast<std::size_t>(level)];
  }
  /// Position of a rank's slice in the packed order.
  [[nodiscard]] int packed(int rank) const;
  /// Slice at a position of the packed order.
  [[nodiscard]] int slice_at(int position) const;
  /// Place of a rank in its group.
  [[nodiscard]] int place(int rank, int level) const {
    return rank / at(level).stride % at(level).factor;
  }
  /// Places of a group in the order of its rings, by ring; channel k has ring k modulo their
  /// number. On a level of rings whose groups are the nodes, these are the parts of the request's
  /// rings inside a node; on others, the one ring 0, 1, ….
  [[nodiscard]] const std::vector<std::vector<int>>& ring_orders(int level) const {
    return orders_[static_cast<std::size_t>(level)];
  }
  /// Channels of the program that differ in the ranks that they connect.
  [[nodiscard]] int different_channels() const;
  /// The groups of a level, in the order of their first ranks.
  [[nodiscard]] std::vector<RankGroup> groups(int level) const;
  /// Runs of a group in the packed order: what its ranks bring to an AllGather.
  [[nodiscard]] Runs packed_runs(const RankGroup& group, int level, Buffer buffer) const;
  /// The same slices in the final order: runs of single slices, which no message joins.
  [[nodiscard]] std::vector<Runs> final_runs(const RankGroup& group, int level,
                                             Buffer buffer) const;

 private:
  int ranks_;
  int node_;  ///< ranks of a node
  int subcomms_;
  bool mpi_;                                           ///< messages between nodes are sent by MPI
  std::vector<Level> levels_;                          ///< innermost first
  std::vector<std::vector<std::vector<int>>> orders_;  ///< by level: ring_orders
};

}  // namespace cclgym::algorithms
