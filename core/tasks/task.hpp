// Numbered tasks whose results are texts: the unit of work of all worker processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// Texts that a task gets besides its index.
struct TaskInput {
  std::string_view common;  ///< TaskSet::common
  std::string_view own;     ///< TaskSet::input of its index
};

/// Runs task `index` and returns its result as text. Throws UserError, SimulationStalled or another
/// std::exception.
using Task = std::function<std::string(std::size_t index, const TaskInput& input)>;
/// The name of a task for messages.
using TaskName = std::function<std::string(std::size_t index)>;

enum class Outcome : std::uint32_t {
  Done,
  UserMistake,  ///< UserError or LibraryMissing
  Stalled,      ///< SimulationStalled
  Failed,       ///< another exception
  Died,         ///< its process died twice, or ended by itself
  TimedOut,     ///< its process was killed, because the task took too long
  NoResources,  ///< ResourceError or std::bad_alloc
  NotStarted,   ///< the process failed before its first task; the index means nothing
};

/// End of a task.
struct TaskReply {
  std::size_t index = 0;
  std::uint32_t round = 0;  ///< TaskRound::number
  Outcome outcome = Outcome::Done;
  double seconds = 0;  ///< time that the task took
  std::string text{};  ///< result, or message of the failure
};

/// A task that is handed out.
struct TaskOrder {
  std::size_t index = 0;
  std::string input;  ///< TaskInput::own
};

/// State that the tasks of one call of run_tasks share. Workers outlive such calls, so late replies
/// to an earlier one are told by its number.
struct TaskRound {
  std::uint32_t number = 0;
  std::string common;  ///< TaskInput::common
};

/// Receives results in the order in which they arrive, several at once.
using TakeResults = std::function<void(std::span<const TaskReply> results)>;

/// Tasks to run.
struct TaskSet {
  std::vector<std::size_t> tasks;  ///< indices, ascending
  /// Makes what runs tasks, once per worker process.
  std::function<Task()> make_task;
  /// Prepares what all workers of a node share, such as a table, before the first of them is
  /// forked; may use `workers` threads, which must have ended when it returns. May be empty.
  std::function<void(std::size_t workers)> prepare{};
  TaskName name_of;
  /// Estimated cost of a task, in any unit; empty: all cost the same.
  std::function<double(std::size_t index)> cost{};
  /// Text from the dispatching process for a task; empty: none. Called for each time that the task
  /// is handed out.
  std::function<std::string(std::size_t index)> input{};
  /// Text from the dispatching process for all tasks. A worker gets it once per call of run_tasks.
  std::string common{};
  /// Text that is equal in all processes that may share the tasks: a version, a hash of the input.
  std::string identity{};
};

/// Throws UserError, SimulationStalled or std::runtime_error with the text, as the outcome says.
[[noreturn]] void throw_failure(const TaskReply& reply);

/// Runs a task and times it; catches its exceptions.
[[nodiscard]] TaskReply do_task(const Task& task, std::size_t index, const TaskInput& input = {});

}  // namespace cclgym
