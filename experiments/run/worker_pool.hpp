// Processes that work on numbered tasks; what they give comes back in the order of the numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cclgym {

/// Does task `index` and gives a text. Throws UserError, SimulationStalled or another
/// std::exception.
using Task = std::function<std::string(std::size_t index)>;
/// Takes what a task gave, in the order of the tasks.
using TakeResult = std::function<void(std::size_t index, const std::string& text)>;
/// The name of a task for messages.
using TaskName = std::function<std::string(std::size_t index)>;

/// Does tasks first .. last - 1 in `jobs` processes of their own (with jobs == 1, or one task only,
/// in this one) and calls `take` here, in task order, whatever the number of jobs.
///
/// Processes, because engine simgrid is not thread-safe: they are forked from this one, which must
/// have no other threads then. `make_task` is called once in each of them. They end with this
/// process, however it ends. What a task throws is thrown here with its kind (any kind but
/// UserError and SimulationStalled as std::runtime_error) when its turn comes, so it is the first
/// failing task that is reported. A process that dies is a std::runtime_error with the name of the
/// task it was at.
void run_tasks(std::size_t first, std::size_t last, std::size_t jobs,
               const std::function<Task()>& make_task, const TakeResult& take,
               const TaskName& name_of);

/// Processor cores that this process may use; at least 1.
[[nodiscard]] std::size_t usable_cores();

}  // namespace cclgym
