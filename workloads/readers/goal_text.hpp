// The text of a GOAL schedule as operations and dependencies. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "workloads/readers/job_limits.hpp"

namespace cclgym {

enum class GoalOpKind : std::uint8_t { Calc, Send, Recv };
[[nodiscard]] std::string_view to_string(GoalOpKind kind);

struct GoalOp {
  std::uint64_t size = 0;    ///< calc: duration, ns; send and recv: payload, B
  std::uint32_t offset = 0;  ///< byte of the text at which its keyword starts
  std::uint32_t line = 0;
  std::int32_t peer = -1;  ///< send and recv: the other rank
  std::int32_t tag = 0;
  std::int32_t rank = 0;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  GoalOpKind kind = GoalOpKind::Calc;
};

/// `op` waits for the end of `on`, or only for its start ("irequires").
struct GoalDependency {
  std::uint32_t op = 0;  ///< index into GoalSchedule::ops
  std::uint32_t on = 0;
  bool start = false;
};

struct GoalSchedule {
  std::int32_t ranks = 0;
  std::vector<GoalOp> ops;  ///< operations of a rank are consecutive, in their order in the text
  std::vector<GoalDependency> dependencies;
};

/// Reads a schedule; `file` is used only in messages. Throws UserError at the place of the fault.
[[nodiscard]] GoalSchedule parse_goal(std::string_view text, const std::string& file,
                                      const JobLimits& limits);

/// Place of a byte of a text. Counts its line breaks: for messages only.
[[nodiscard]] SourceLocation place_in(std::string_view text, const std::string& file,
                                      std::size_t offset);

}  // namespace cclgym
