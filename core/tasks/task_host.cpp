#include "core/tasks/task_host.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/progress.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

// Max deaths in a row outside of tasks: more mean that simulators cannot run here.
constexpr std::size_t kMaxIdleDeaths = 5;
// Distance of checks for tasks that take too long.
constexpr int kCheckEveryMilliseconds = 50;
// Distance of looks for simulators that are stopped.
constexpr int kLookEveryMilliseconds = 500;

[[noreturn]] void throw_system_error(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Kind and message of an error of make_task, which came as one text.
[[noreturn]] void throw_start_failure(const std::string& text) {
  std::string_view rest = text;
  const std::optional<Outcome> outcome = get<Outcome>(rest);
  throw_failure(
      {.index = 0, .outcome = outcome.value_or(Outcome::Failed), .text = std::string(rest)});
}

}  // namespace

bool is_stopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] == 'T';
}

TaskHost::TaskHost(const std::function<Task()>& make_task, const Setup& setup)
    : make_task_(make_task), setup_(setup), simulators_(setup.simulators) {
  void* const memory = ::mmap(nullptr, setup.simulators * sizeof(SimulatorState),
                              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_system_error("mmap");
  states_ = static_cast<SimulatorState*>(memory);
  for (std::size_t i = 0; i < simulators_.size(); ++i) {
    simulators_[i].state = new (states_ + i) SimulatorState;
  }
  for (std::size_t i = 0; i < simulators_.size(); ++i) start(i);
}

TaskHost::~TaskHost() {
  for (const Simulator& simulator : simulators_) {
    if (simulator.pid <= 0) continue;
    ::close(simulator.channel);
    ::kill(simulator.pid, SIGKILL);
    ::waitpid(simulator.pid, nullptr, 0);
  }
  ::munmap(states_, simulators_.size() * sizeof(SimulatorState));
}

void TaskHost::start(std::size_t number) {
  Simulator& simulator = simulators_[number];
  simulator.state->task = 0;
  simulator.inbox.clear();
  simulator.outbox.clear();
  simulator.round = 0;
  simulator.stopped_s = 0;
  const pid_t host = ::getpid();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw_system_error("socketpair");
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw_system_error("fork");
  }
  if (pid == 0) {
    ::close(ends[0]);
    for (const Simulator& other : simulators_) {
      if (other.pid > 0) ::close(other.channel);
    }
    if (number < setup_.cores.size()) {
      // A simulator that cannot be bound runs on the host's cores.
      ::sched_setaffinity(0, sizeof(cpu_set_t), &setup_.cores[number]);
    }
    simulate_tasks(ends[1], host, *simulator.state, make_task_);
  }
  ::close(ends[1]);
  simulator.pid = pid;
  simulator.channel = ends[0];
}

void TaskHost::begin(TaskRound round) {
  round_ = std::move(round);
  queue_.clear();
  deaths_.clear();
}

void TaskHost::submit(std::vector<TaskOrder> tasks) {
  queue_.push_back(std::move(tasks));
  hand_out();
}

void TaskHost::hand_out() {
  for (Simulator& simulator : simulators_) {
    if (queue_.empty()) return;
    if (!simulator.tasks.empty()) continue;
    if (simulator.round != round_.number) simulator.outbox += round_message(round_);
    simulator.round = round_.number;
    simulator.outbox += tasks_message(queue_.front());
    std::vector<TaskOrder>& tasks = queue_.front();
    simulator.tasks.assign(std::make_move_iterator(tasks.begin()),
                           std::make_move_iterator(tasks.end()));
    queue_.pop_front();
    simulator.given_ns = monotonic_ns();
    // Sending never waits: the simulator may have been stopped. If it has died, collect() notices
    // that and runs the tasks again.
    static_cast<void>(send_some(simulator.channel, simulator.outbox));
  }
}

void TaskHost::add_polled(std::vector<pollfd>& polled) const {
  for (const Simulator& simulator : simulators_) {
    const int events = simulator.outbox.empty() ? POLLIN : POLLIN | POLLOUT;
    polled.push_back({simulator.channel, static_cast<short>(events), 0});
  }
}

int TaskHost::wait_ms() const {
  return setup_.task_timeout_s > 0 ? kCheckEveryMilliseconds : kLookEveryMilliseconds;
}

// Kills simulators that have been stopped for too long; their ends are noticed like others.
void TaskHost::kill_stopped() {
  const double now_s = steady_now_s();
  const double since_s = now_s - looked_s_;
  if (since_s * 1000 < kLookEveryMilliseconds) return;
  looked_s_ = now_s;
  for (Simulator& simulator : simulators_) {
    if (!is_stopped(simulator.pid)) {
      simulator.stopped_s = 0;
      continue;
    }
    // After a long time without a look, this process was stopped as well.
    simulator.stopped_s += std::min(since_s, 2.0 * kLookEveryMilliseconds / 1000);
    if (simulator.stopped_s > setup_.stop_timeout_s) ::kill(simulator.pid, SIGKILL);
  }
}

std::vector<TaskReply> TaskHost::collect() {
  std::vector<pollfd> polled;
  add_polled(polled);
  if (::poll(polled.data(), polled.size(), 0) < 0 && errno != EINTR) throw_system_error("poll");
  kill_stopped();
  std::vector<TaskReply> replies;
  for (std::size_t i = 0; i < simulators_.size(); ++i) {
    Simulator& simulator = simulators_[i];
    if (polled[i].revents != 0) {
      static_cast<void>(send_some(simulator.channel, simulator.outbox));
      const bool alive = receive_some(simulator.channel, simulator.inbox);
      read_replies(simulator, replies);
      if (!alive) {
        replace(i, replies, false);
        continue;
      }
    }
    if (took_too_long(simulator)) replace(i, replies, true);
  }
  hand_out();
  return replies;
}

void TaskHost::read_replies(Simulator& simulator, std::vector<TaskReply>& replies) {
  std::string_view bytes = simulator.inbox;
  while (std::optional<TaskReply> reply = get_reply(bytes)) {
    if (reply->outcome == Outcome::NotStarted) throw_start_failure(reply->text);
    simulator.tasks.pop_front();
    simulator.given_ns = monotonic_ns();
    idle_deaths_ = 0;
    replies.push_back(std::move(*reply));
  }
  simulator.inbox.erase(0, simulator.inbox.size() - bytes.size());
}

bool TaskHost::took_too_long(const Simulator& simulator) const {
  if (setup_.task_timeout_s <= 0 || simulator.tasks.empty()) return false;
  // Without a task in progress, the simulator has been stopped between two tasks.
  const bool in_task = simulator.state->task.load() != 0;
  const std::int64_t start_ns = in_task ? simulator.state->since_ns.load() : simulator.given_ns;
  return static_cast<double>(setup_.now_ns() - start_ns) > setup_.task_timeout_s * 1e9;
}

// Ends a simulator that died or takes too long, forks another one, and settles its tasks.
void TaskHost::replace(std::size_t number, std::vector<TaskReply>& replies, bool timed_out) {
  Simulator& simulator = simulators_[number];
  if (timed_out) ::kill(simulator.pid, SIGKILL);
  int status = 0;
  ::waitpid(simulator.pid, &status, 0);
  const pid_t pid = std::exchange(simulator.pid, 0);
  // Replies that it sent before its end.
  static_cast<void>(receive_some(simulator.channel, simulator.inbox));
  read_replies(simulator, replies);
  ::close(simulator.channel);
  std::deque<TaskOrder> tasks = std::exchange(simulator.tasks, {});
  if (simulator.round != round_.number) tasks.clear();  // nobody waits for them any more
  const std::uint64_t in_progress = simulator.state->task.load();
  const auto current = std::find_if(tasks.begin(), tasks.end(), [&](const TaskOrder& order) {
    return order.index + 1 == in_progress;
  });
  if (current != tasks.end()) {
    TaskOrder order = std::move(*current);
    tasks.erase(current);
    const std::size_t task = order.index;
    const bool killed = WIFSIGNALED(status);
    const bool again = killed && !timed_out && ++deaths_[task] == 1;
    if (again) {
      queue_.emplace_front().push_back(std::move(order));
    } else if (timed_out) {
      replies.push_back({.index = task,
                         .round = round_.number,
                         .outcome = Outcome::TimedOut,
                         .seconds = setup_.task_timeout_s,
                         .text = fmt::format("took longer than {} s", setup_.task_timeout_s)});
    } else {
      const std::string how = killed ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                                   ::strsignal(WTERMSIG(status)))
                                     : fmt::format("ended with status {}", WEXITSTATUS(status));
      replies.push_back({.index = task,
                         .round = round_.number,
                         .outcome = Outcome::Died,
                         .text = fmt::format("worker process {} {}", pid, how)});
    }
  } else if (++idle_deaths_ > kMaxIdleDeaths) {
    throw std::runtime_error(fmt::format(
        "{} worker processes in a row died before they began a task; the last one was {}",
        idle_deaths_, pid));
  }
  if (!tasks.empty()) {
    queue_.emplace_back(std::make_move_iterator(tasks.begin()),
                        std::make_move_iterator(tasks.end()));
  }
  start(number);
}

}  // namespace cclgym
