#include "experiments/run/worker_pool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files/standard_streams.hpp"

namespace cclgym {

namespace {

enum class Outcome : std::uint32_t { Done, UserMistake, Stalled, Failed };

// Head of a worker's reply, followed by `length` bytes of text. Both ends are the same program.
struct ReplyHead {
  std::uint64_t index;
  std::uint32_t length;
  Outcome outcome;
};

// Max tasks per worker: one in progress and one queued, so that the worker does not idle while a
// reply travels.
constexpr std::size_t kTasksAtOnce = 2;
// Max distance of workers from the first task that is not done: the work that a killed run loses.
constexpr std::size_t kMostAhead = 4096;

[[noreturn]] void throw_system_error(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Reads exactly `size` bytes; false at the end of the stream or if the other end is gone.
bool read_exactly(int file, void* data, std::size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(file, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// Writes all bytes; false if the other end is gone.
bool send_all(int file, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(file, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

struct Reply {
  Outcome outcome = Outcome::Done;
  std::string text;
};

Reply do_task(const Task& task, std::size_t index) {
  try {
    return {Outcome::Done, task(index)};
  } catch (const UserError& error) {
    return {Outcome::UserMistake, error.what()};
  } catch (const SimulationStalled& error) {
    return {Outcome::Stalled, error.what()};
  } catch (const std::exception& error) {
    return {Outcome::Failed, error.what()};
  }
}

[[noreturn]] void throw_failure(const Reply& reply) {
  if (reply.outcome == Outcome::UserMistake) throw UserError(reply.text);
  if (reply.outcome == Outcome::Stalled) throw SimulationStalled(reply.text);
  throw std::runtime_error(reply.text);
}

// Main loop of a worker: task numbers in, replies out, until the parent closes its end.
[[noreturn]] void work(int channel, pid_t parent, const std::function<Task()>& make_task) {
  // Die with the parent, even in the middle of a long task. The parent may be gone already.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  int status = 0;
  try {
    const Task task = make_task();
    std::uint64_t index = 0;
    while (read_exactly(channel, &index, sizeof index)) {
      const Reply reply = do_task(task, index);
      const ReplyHead head{index, static_cast<std::uint32_t>(reply.text.size()), reply.outcome};
      std::string message(sizeof head, '\0');
      std::memcpy(message.data(), &head, sizeof head);
      message += reply.text;
      if (!send_all(channel, message.data(), message.size())) break;
    }
  } catch (const std::exception& error) {
    write_to_standard_error(fmt::format("worker process: {}\n", error.what()));
    status = 1;
  }
  ::_exit(status);  // not exit(): that would run the parent's handlers
}

class Pool {
 public:
  Pool(std::size_t first, std::size_t last, const TakeResult& take, const TaskName& name_of)
      : take_(take), name_of_(name_of), next_(first), last_(last), next_to_take_(first) {}

  ~Pool() {
    for (const Worker& worker : workers_) {
      if (worker.pid <= 0) continue;
      ::close(worker.channel);
      ::kill(worker.pid, SIGKILL);
      ::waitpid(worker.pid, nullptr, 0);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void start(std::size_t jobs, const std::function<Task()>& make_task) {
    const pid_t parent = ::getpid();
    for (std::size_t i = 0; i < jobs; ++i) {
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
        for (const Worker& other : workers_) ::close(other.channel);
        work(ends[1], parent, make_task);
      }
      ::close(ends[1]);
      workers_.push_back({.pid = pid, .channel = ends[0], .tasks = {}});
    }
  }

  void run() {
    while (next_to_take_ < last_) {
      hand_out();
      receive();
      take_what_is_due();
    }
  }

 private:
  struct Worker {
    pid_t pid = 0;
    int channel = -1;
    std::deque<std::size_t> tasks;  // handed out, oldest first; the first is in progress
  };

  // Gives every worker one task before any gets a second one. Near the end no worker gets a second
  // one: it would wait behind a long task while other workers are idle.
  void hand_out() {
    const bool near_end = last_ - next_ <= kTasksAtOnce * workers_.size();
    for (std::size_t have = 0; have < (near_end ? 1 : kTasksAtOnce); ++have) {
      for (Worker& worker : workers_) {
        if (failed_ || next_ == last_ || next_ >= next_to_take_ + kMostAhead) return;
        if (worker.tasks.size() > have) continue;
        const std::uint64_t index = next_++;
        worker.tasks.push_back(index);
        if (!send_all(worker.channel, &index, sizeof index)) throw_death(worker);
      }
    }
  }

  // Waits for replies and reads one from each worker that has sent one.
  void receive() {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_) polled.push_back({worker.channel, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) return;
      throw_system_error("poll");
    }
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Worker& worker = workers_[i];
      ReplyHead head{};
      Reply reply;
      if (!read_exactly(worker.channel, &head, sizeof head)) throw_death(worker);
      reply.outcome = head.outcome;
      reply.text.resize(head.length);
      if (!read_exactly(worker.channel, reply.text.data(), head.length)) throw_death(worker);
      worker.tasks.pop_front();
      if (reply.outcome != Outcome::Done) failed_ = true;
      replies_.emplace(head.index, std::move(reply));
    }
  }

  void take_what_is_due() {
    while (!replies_.empty() && replies_.begin()->first == next_to_take_) {
      const Reply reply = std::move(replies_.begin()->second);
      replies_.erase(replies_.begin());
      if (reply.outcome != Outcome::Done) throw_failure(reply);
      take_(next_to_take_++, reply.text);
    }
  }

  [[noreturn]] void throw_death(Worker& worker) {
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    const pid_t pid = std::exchange(worker.pid, 0);
    ::close(worker.channel);
    const std::string how = WIFSIGNALED(status)
                                ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                              ::strsignal(WTERMSIG(status)))
                                : fmt::format("ended with status {}", WEXITSTATUS(status));
    throw std::runtime_error(
        fmt::format("worker process {} {} in {}", pid, how,
                    worker.tasks.empty() ? "no task" : name_of_(worker.tasks.front())));
  }

  const TakeResult& take_;
  const TaskName& name_of_;
  std::vector<Worker> workers_;
  std::size_t next_;          // task to hand out next
  std::size_t last_;          // end of the tasks
  std::size_t next_to_take_;  // task whose result is passed on next
  std::map<std::size_t, Reply> replies_;
  bool failed_ = false;
};

}  // namespace

void run_tasks(std::size_t first, std::size_t last, std::size_t jobs,
               const std::function<Task()>& make_task, const TakeResult& take,
               const TaskName& name_of) {
  if (first >= last) return;
  jobs = std::min(jobs, last - first);
  if (jobs <= 1) {
    const Task task = make_task();
    for (std::size_t index = first; index < last; ++index) take(index, task(index));
    return;
  }
  Pool pool(first, last, take, name_of);
  pool.start(jobs, make_task);
  pool.run();
}

std::size_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cores)));
}

}  // namespace cclgym
