// Process that runs tasks, as its host sees it and as it sees itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/tasks/task.hpp"

namespace cclgym {

/// State that a simulator and its host share in memory, so that the host knows the task in progress
/// even of a process that was killed.
struct SimulatorState {
  std::atomic<std::uint64_t> task{0};     ///< index + 1 of the task in progress; 0: none
  std::atomic<std::int64_t> since_ns{0};  ///< start of that task on the monotonic clock
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Nanoseconds on the monotonic clock, which all processes of a node share.
[[nodiscard]] std::int64_t monotonic_ns();

/// Text that begins a round in a simulator.
[[nodiscard]] std::string round_message(const TaskRound& round);
/// Text that tells a simulator which tasks to run.
[[nodiscard]] std::string tasks_message(const std::vector<TaskOrder>& tasks);
void put_order(std::string& bytes, const TaskOrder& order);
/// Takes a complete order off the start of `bytes`; nullopt if there is none.
[[nodiscard]] std::optional<TaskOrder> get_order(std::string_view& bytes);
void put_reply(std::string& bytes, const TaskReply& reply);
/// Takes a complete reply off the start of `bytes`; nullopt if there is none.
[[nodiscard]] std::optional<TaskReply> get_reply(std::string_view& bytes);

/// Main loop of a simulator: rounds and lists of tasks in, replies out, until the host closes its
/// end. Dies with the host.
[[noreturn]] void simulate_tasks(int channel, pid_t host, SimulatorState& state,
                                 const std::function<Task()>& make_task);

}  // namespace cclgym
