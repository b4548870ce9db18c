// An order of a GOAL schedule's operations in which a job can run them. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/readers/goal_text.hpp"

namespace cclgym {

/// Dependencies by operation: those of operation i are other[begin[i]] .. other[begin[i + 1] - 1].
struct GoalEdges {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> other;  ///< the operation at the other end
  std::vector<bool> start;           ///< true if it waits only for the start
};
/// Edges by waiting operation, or by the operation that is waited for.
[[nodiscard]] GoalEdges goal_edges(const GoalSchedule& schedule, bool by_waiting);

/// The operations in the order in which they become ready if messages take no time and each CPU
/// runs its calcs in the order in which they become ready; ties in the order of the text. The k-th
/// send of a rank to another with a tag in this order belongs to the k-th such recv. A send lasts
/// until its recv; only where no operation could go on otherwise, all sends that wait end at once,
/// as if their messages were buffered. Throws UserError at a send without recv, a recv without
/// send, and at an operation that never starts.
[[nodiscard]] std::vector<std::uint32_t> goal_order(const GoalSchedule& schedule,
                                                    const GoalEdges& waits_for,
                                                    std::string_view text, const std::string& file);

}  // namespace cclgym
