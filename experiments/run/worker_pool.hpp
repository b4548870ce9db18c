// Worker processes for numbered tasks; results come back in the order of the numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cclgym {

/// Runs task `index` and returns its result as text. Throws UserError, SimulationStalled or another
/// std::exception.
using Task = std::function<std::string(std::size_t index)>;
/// Receives the result of a task, in the order of the tasks.
using TakeResult = std::function<void(std::size_t index, const std::string& text)>;
/// The name of a task for messages.
using TaskName = std::function<std::string(std::size_t index)>;

/// Runs tasks first .. last - 1 in `jobs` worker processes (with jobs == 1, or only one task, in
/// this process) and calls `take` here, in task order for any number of jobs. Workers are processes
/// because engine simgrid is not thread-safe. They are forked from this process, which must then
/// have no other threads, and end with it. `make_task` is called once in each. An exception of a
/// task is thrown here when its turn comes, so the first failing task is reported. UserError and
/// SimulationStalled keep their type; others become std::runtime_error. If a worker dies, a
/// std::runtime_error with the name of its task is thrown.
void run_tasks(std::size_t first, std::size_t last, std::size_t jobs,
               const std::function<Task()>& make_task, const TakeResult& take,
               const TaskName& name_of);

/// Processor cores available to this process; at least 1.
[[nodiscard]] std::size_t usable_cores();

}  // namespace cclgym
