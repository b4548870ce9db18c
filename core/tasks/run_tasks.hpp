// Runs numbered tasks in this process, in worker processes, or on the ranks of an MPI run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tasks/peers.hpp"
#include "core/tasks/simulator.hpp"
#include "core/tasks/task.hpp"

namespace cclgym {

class TaskPlace;

struct TaskOptions {
  TaskPlace* place = nullptr;  ///< place of the tasks; null: this process and its workers
  std::size_t jobs = 1;        ///< worker processes; 1: all work in this process
  double task_timeout_s = 0;   ///< a task that takes longer is killed; 0: no limit
  /// A peer that is silent for longer is thought lost, and its tasks are handed out again.
  double peer_timeout_s = 60;
  std::string task_noun = "task";   ///< for messages
  std::string option_of_timeout{};  ///< name of the option with the limit, for messages
  /// Called with a sentence about each fault that the tasks survive. May be empty.
  std::function<void(const std::string& sentence)> notice{};
  /// Clock of task_timeout_s for workers of this process: TaskHost::Setup::now_ns.
  std::function<std::int64_t()> now_ns = monotonic_ns;
};

/// A place for tasks other than worker processes that this process forks: the ranks of an MPI run
/// (core/ranks).
class TaskPlace {
 public:
  TaskPlace() = default;
  virtual ~TaskPlace() = default;
  TaskPlace(const TaskPlace&) = delete;
  TaskPlace& operator=(const TaskPlace&) = delete;

  /// Number of ranks, each with the jobs of the options.
  [[nodiscard]] virtual std::size_t ranks() const = 0;
  /// In a process that only serves tasks: serves these, and does not return.
  virtual void serve(const TaskSet& set, const TaskOptions& options) = 0;
  /// The peers that run the tasks.
  [[nodiscard]] virtual std::unique_ptr<Peers> peers(const TaskSet& set,
                                                     const TaskOptions& options) = 0;
};

/// A command that may run on ranks calls this once, before it writes anything, with the set that it
/// will later give to run_tasks; `tasks`, `input` and `common` may still be empty. It does not
/// return in a process that only serves tasks.
void share_tasks(const TaskSet& set, const TaskOptions& options);

/// Runs the tasks and calls `take` here with their results, in any order. With more than one job,
/// workers are forked from this process, which must then have no other threads. A command may call
/// this several times with the set that it has shared, with other tasks and inputs each time.
///
/// An exception of a task is thrown here after the results of all tasks before it were taken, so
/// the first failing task is reported. UserError and SimulationStalled keep their type; others
/// become std::runtime_error. A task whose worker dies is tried once more; if that worker dies,
/// too, or if a task takes too long, the other tasks are finished first. Then SimulationStalled (if
/// all of them took too long) or WorkLost is thrown with the names of the tasks. WorkLost is also
/// thrown if no worker is left.
void run_tasks(const TaskSet& set, const TaskOptions& options, const TakeResults& take);

/// Results of all tasks in the order of `set.tasks`; `on_done` is called with the number of those
/// that have ended.
[[nodiscard]] std::vector<std::string> task_results(
    const TaskSet& set, const TaskOptions& options,
    const std::function<void(std::size_t done)>& on_done = {});

/// The same as run_tasks with other peers.
void run_tasks_on(Peers& peers, const TaskSet& set, const TaskOptions& options,
                  const TakeResults& take);

/// Processor cores available to this process; at least 1.
[[nodiscard]] std::size_t usable_cores();

}  // namespace cclgym
