// Supervisor of the simulators of one node: forks them, gives them tasks, replaces those that die.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/tasks/simulator.hpp"
#include "core/tasks/task.hpp"

namespace cclgym {

/// True if a process is stopped, as by SIGSTOP.
[[nodiscard]] bool is_stopped(pid_t process);

/// Simulators are processes, because engine simgrid is not thread-safe. They are forked from this
/// process, which must have no other threads, so that they share its data, and end with it.
class TaskHost {
 public:
  struct Setup {
    std::size_t simulators = 1;
    /// Max time of a task, in seconds; 0: no limit.
    double task_timeout_s = 0;
    /// A simulator that is stopped (by SIGSTOP) for longer is replaced, like one that died.
    double stop_timeout_s = 60;
    /// Cores of each simulator; empty: those of this process.
    std::vector<cpu_set_t> cores{};
    /// Clock by which tasks take too long. Their starts are on monotonic_ns().
    std::function<std::int64_t()> now_ns = monotonic_ns;
  };

  TaskHost(const std::function<Task()>& make_task, const Setup& setup);
  ~TaskHost();
  TaskHost(const TaskHost&) = delete;
  TaskHost& operator=(const TaskHost&) = delete;

  /// Begins a round, to which the tasks submitted from now on belong. Those of the round before
  /// that no simulator has begun are dropped.
  void begin(TaskRound round);
  /// Adds tasks that one simulator does one after another.
  void submit(std::vector<TaskOrder> tasks);
  /// Adds the files for poll(): something may have happened when one is ready.
  void add_polled(std::vector<pollfd>& polled) const;
  /// Longest time until collect() should be called even if no file is readable, in ms; -1: none.
  [[nodiscard]] int wait_ms() const;
  /// Ends of tasks since the last call, those of earlier rounds among them. Replaces simulators
  /// that died or were killed for a task that took too long, and runs their other tasks again. A
  /// task whose simulator was killed by a signal is tried once more; after that, it has the outcome
  /// Died. Throws what make_task threw, and std::runtime_error if simulators die again and again
  /// outside of tasks.
  [[nodiscard]] std::vector<TaskReply> collect();

 private:
  struct Simulator {
    pid_t pid = 0;
    int channel = -1;
    SimulatorState* state = nullptr;
    std::string inbox{};
    std::string outbox{};           ///< bytes that the channel did not take yet
    std::uint32_t round = 0;        ///< last one that it was told
    std::deque<TaskOrder> tasks{};  ///< given to it, not ended
    std::int64_t given_ns = 0;      ///< last sign of progress
    double stopped_s = 0;           ///< time for which it has been seen stopped
  };

  void start(std::size_t number);
  void hand_out();
  void read_replies(Simulator& simulator, std::vector<TaskReply>& replies);
  void replace(std::size_t number, std::vector<TaskReply>& replies, bool timed_out);
  [[nodiscard]] bool took_too_long(const Simulator& simulator) const;
  void kill_stopped();

  std::function<Task()> make_task_;
  Setup setup_;
  SimulatorState* states_ = nullptr;
  std::vector<Simulator> simulators_;
  TaskRound round_;
  std::deque<std::vector<TaskOrder>> queue_;
  std::map<std::size_t, int> deaths_;  ///< deaths of simulators, by the task in progress
  double looked_s_ = 0;                ///< time of the last look for stopped simulators
  std::size_t idle_deaths_ = 0;        ///< deaths outside of tasks without a reply in between
};

}  // namespace cclgym
