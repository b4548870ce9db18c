// Ranks of a job that behave the same, date by date.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workloads/graph/job_graph.hpp"
#include "workloads/timing/call_flows.hpp"

namespace cclgym {

/// A pair of ranks that exchange messages: (communicator, sender, receiver, tag); a process group:
/// (-1, group, 0, 0).
using CommunicatorKey = std::array<std::int32_t, 4>;
[[nodiscard]] inline CommunicatorKey group_key(std::int32_t group) { return {-1, group, 0, 0}; }

/// A call of a communicator, apart from the communicator. A message is an AllToNext.
struct CallType {
  CollectiveKind collective = CollectiveKind::AllToNext;
  std::uint64_t bytes = 0;  ///< JobOp::bytes
  std::int32_t root = 0;
  friend auto operator<=>(const CallType&, const CallType&) = default;
};
[[nodiscard]] CallType call_type_of(const JobOp& op);

/// A call that stands for those of all communicators of a class.
struct FoldedCall {
  const ConfiguredCall* like = nullptr;  ///< a call on a communicator of the same shape
  /// Each link stands for a class of links, and is loaded by all calls of the class together.
  std::vector<CallLoad> loads;
};

/// A partition of the ranks. One *actor* per class, its first rank, is simulated for all of them.
struct RankClasses {
  std::vector<std::int32_t> class_of;  ///< by rank
  std::vector<std::int32_t> actor;     ///< by class: the rank that stands for it
  std::vector<std::int32_t> size;      ///< by class: number of its ranks
  // Only if folded:
  std::vector<std::int32_t> group_class;  ///< by process group: the group that stands for it
  std::map<CommunicatorKey, CommunicatorKey> pair_class;  ///< the pair that stands for a pair
  std::map<std::pair<CommunicatorKey, CallType>, FoldedCall> folded_calls;
  /// By link of the fabric: number of links for which it stands, itself included; 0: another stands
  /// for it.
  std::vector<std::int32_t> link_size;

  [[nodiscard]] std::size_t count() const { return actor.size(); }
  [[nodiscard]] CommunicatorKey pair_of(const CommunicatorKey& pair) const {
    const auto found = pair_class.find(pair);
    return found == pair_class.end() ? pair : found->second;
  }
  [[nodiscard]] bool folded() const { return actor.size() < class_of.size(); }
  /// Number of links for which a link of the fabric stands; 1 if links are not folded.
  [[nodiscard]] std::int32_t links_like(std::size_t link) const {
    return link < link_size.size() ? link_size[link] : 1;
  }
};

/// Each rank is its own class.
[[nodiscard]] RankClasses single_ranks(std::int32_t ranks);

}  // namespace cclgym
