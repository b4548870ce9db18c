// Tests of worker processes: order, failures, deaths.
#include "core/tasks/run_tasks.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <poll.h>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

std::string name_of(std::size_t index) { return "task " + std::to_string(index); }

TaskSet tasks_from(std::size_t first, std::size_t last, std::function<Task()> make_task) {
  TaskSet set;
  set.tasks.resize(last - first);
  std::iota(set.tasks.begin(), set.tasks.end(), first);
  set.make_task = std::move(make_task);
  set.name_of = name_of;
  return set;
}

using Texts = std::map<std::size_t, std::string>;

// Results of tasks first .. last - 1.
Texts run(std::size_t first, std::size_t last, std::size_t jobs, const Task& task) {
  Texts texts;
  run_tasks(tasks_from(first, last, [&] { return task; }), {.jobs = jobs},
            [&](std::span<const TaskReply> results) {
              for (const TaskReply& result : results) {
                CHECK(texts.emplace(result.index, result.text).second);
              }
            });
  return texts;
}

// The exception of run_tasks with its type; "" if none.
std::string failure(const TaskOptions& options, const Task& task, Texts* taken = nullptr) {
  Texts unwanted;
  Texts& texts = taken == nullptr ? unwanted : *taken;
  const auto take = [&](std::span<const TaskReply> results) {
    for (const TaskReply& result : results) texts[result.index] = result.text;
  };
  try {
    run_tasks(tasks_from(0, 40, [&] { return task; }), options, take);
  } catch (const UserError& error) {
    return std::string("user: ") + error.what();
  } catch (const SimulationStalled& error) {
    return std::string("stalled: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what();
  }
  return "";
}

// A task that is never done. A process that runs it must be killed.
[[noreturn]] void never_end() {
  while (true) ::pause();
}

TEST_CASE("every task has its result once, for any number of jobs", "[core][tasks]") {
  for (const std::size_t jobs : {1U, 2U, 3U, 7U}) {
    const TemporaryFolder folder;
    const Texts texts = run(3, 60, jobs, [&](std::size_t index, const TaskInput&) {
      const std::string fourth = folder / "4";
      if (index == 4) write_file(fourth, "");
      // The first batches have one task each, so that the reply of task 4 comes before this one.
      if (index == 3 && jobs > 1 && !comes_true([&] { return std::filesystem::exists(fourth); })) {
        throw std::runtime_error("task 4 does not begin");
      }
      return "r" + std::to_string(index) + std::string(index == 17 ? 1'000'000 : 0, 'x');
    });
    REQUIRE(texts.size() == 57);
    CHECK(texts.at(3) == "r3");
    CHECK(texts.at(17).size() == 1'000'003);
    CHECK(texts.at(59) == "r59");
  }
}

TEST_CASE("tasks get their inputs, also when their worker dies", "[core][tasks]") {
  const TemporaryFolder folder;
  TaskSet set = tasks_from(2, 30, [&folder]() -> Task {
    return [&folder](std::size_t index, const TaskInput& input) {
      const std::string mark = folder / "died";
      if (index == 7 && !std::filesystem::exists(mark)) {
        std::filesystem::create_directory(mark);
        ::kill(::getpid(), SIGKILL);
      }
      return std::string(input.common) + "/" + std::string(input.own);
    };
  });
  // Longer than the buffer of a socket.
  set.common = std::string(3'000'000, 'c');
  set.input = [](std::size_t index) {
    return std::string(index == 20 ? 2'000'000 : 1, static_cast<char>('a' + index % 20));
  };
  for (const std::size_t jobs : {1U, 3U}) {
    std::size_t last = 0;
    if (jobs == 1) std::filesystem::create_directory(folder / "died");
    const std::vector<std::string> texts =
        task_results(set, {.jobs = jobs}, [&](std::size_t done) { last = done; });
    REQUIRE(texts.size() == 28);
    CHECK(last == 28);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CHECK((texts[i] == set.common + "/" + set.input(i + 2)));
    }
    std::filesystem::remove(folder / "died");
  }
}

TEST_CASE("preparation runs once, before the workers", "[core][tasks]") {
  for (const std::size_t jobs : {1U, 3U}) {
    int prepared = 0;
    TaskSet set = tasks_from(0, 12, [&prepared]() -> Task {
      return [&prepared](std::size_t, const TaskInput&) { return std::to_string(prepared); };
    });
    set.prepare = [&prepared](std::size_t workers) { prepared += static_cast<int>(workers); };
    for (const std::string& text : task_results(set, {.jobs = jobs})) {
      CHECK(text == std::to_string(jobs));
    }
  }
}

TEST_CASE("no tasks: nothing happens", "[core][tasks]") {
  run_tasks(tasks_from(5, 5, []() -> Task { throw std::logic_error("not called"); }), {.jobs = 4},
            [](std::span<const TaskReply>) { FAIL("not called"); });
}

TEST_CASE("the first failing task is reported with its kind, after all before it are taken",
          "[core][tasks]") {
  for (const std::size_t jobs : {1U, 2U, 4U}) {
    Texts taken;
    const auto failing = [](std::size_t index, const TaskInput&) -> std::string {
      if (index == 11) throw UserError("eleven");
      if (index >= 12) throw SimulationStalled("twelve");
      return "";
    };
    CHECK(failure({.jobs = jobs}, failing, &taken) == "user: eleven");
    for (std::size_t index = 0; index < 11; ++index) CHECK(taken.count(index) == 1);
    CHECK(taken.count(11) == 0);
    CHECK(failure({.jobs = jobs}, [](std::size_t, const TaskInput&) -> std::string {
            throw SimulationStalled("all");
          }) == "stalled: all");
    CHECK(failure({.jobs = jobs}, [](std::size_t, const TaskInput&) -> std::string {
            throw std::logic_error("bug");
          }) == "other: bug");
  }
}

// A peer with one worker for each task, which ends the tasks that it has in reverse order.
class ReversePeers : public Peers {
 public:
  [[nodiscard]] std::vector<std::size_t> workers() const override { return {40}; }
  [[nodiscard]] std::string name(std::size_t /*peer*/) const override { return "reverse"; }
  void send(std::size_t /*peer*/, std::vector<TaskOrder> tasks) override {
    for (TaskOrder& task : tasks) tasks_.push_back(std::move(task));
  }
  [[nodiscard]] std::vector<PeerEvent> wait() override {
    TaskReply reply{.index = tasks_.back().index};
    tasks_.pop_back();
    if (reply.index == 11) reply.outcome = Outcome::UserMistake;
    if (reply.index >= 12) reply.outcome = Outcome::Stalled;
    if (reply.index >= 11) reply.text = std::to_string(reply.index);
    return {{.kind = PeerEvent::Kind::Replies, .replies = {reply}}};
  }

 private:
  std::vector<TaskOrder> tasks_;
};

TEST_CASE("the first failing task is reported though later ones have failed before it",
          "[core][tasks]") {
  ReversePeers peers;
  std::size_t taken = 0;
  std::string error;
  try {
    run_tasks_on(peers, tasks_from(0, 40, {}), {},
                 [&](std::span<const TaskReply> results) { taken += results.size(); });
  } catch (const UserError& first) {
    error = first.what();
  }
  CHECK(error == "11");
  CHECK(taken == 11);
}

TEST_CASE("a worker that dies names its task, after all others are done", "[core][tasks]") {
  Texts taken;
  const std::string killed = failure(
      {.jobs = 2},
      [](std::size_t index, const TaskInput&) -> std::string {
        if (index == 9) ::raise(SIGKILL);
        return "";
      },
      &taken);
  CHECK(killed.find("other: worker process ") == 0);
  CHECK(killed.find("was killed by signal 9 (Killed) in task 9; 1 of 40 tasks has no result: the "
                    "same command runs it again") != std::string::npos);
  CHECK(taken.size() == 39);
  CHECK(taken.count(9) == 0);
  const std::string ended =
      failure({.jobs = 3}, [](std::size_t index, const TaskInput&) -> std::string {
        if (index % 5 == 3) ::_exit(5);
        return "";
      });
  CHECK(ended.find("ended with status 5 in task 3; worker process ") != std::string::npos);
  CHECK(ended.find("in task 23; 3 more; 8 of 40 tasks have no result: the same command runs them "
                   "again") != std::string::npos);
}

TEST_CASE("a task whose worker is killed once is done by another worker", "[core][tasks]") {
  const TemporaryFolder folder;
  const auto task = [&](std::size_t index, const TaskInput&) {
    const std::string mark = folder / std::to_string(index);
    if (index % 4 == 1 && !std::filesystem::exists(mark)) {
      write_file(mark, "");
      ::raise(SIGKILL);
    }
    return std::to_string(index);
  };
  for (const std::size_t jobs : {2U, 5U}) {
    std::filesystem::remove_all(folder.path());
    std::filesystem::create_directory(folder.path());
    const Texts texts = run(0, 40, jobs, task);
    REQUIRE(texts.size() == 40);
    for (const auto& [index, text] : texts) CHECK(text == std::to_string(index));
  }
}

TEST_CASE("a task that takes too long is killed, also alone and if it is stopped",
          "[core][tasks]") {
  constexpr double kTimeout_s = 3600.5;
  for (const std::size_t jobs : {1U, 3U}) {
    // The first batches have one task each, so that no other task has to wait for this one.
    const std::size_t slow = jobs == 1 ? 7 : 1;
    for (const bool stopped : {false, true}) {
      const TemporaryFolder folder;
      const std::string mark = folder / "slow";
      Texts taken;
      // The time passes while the slow task, and only it, is in progress.
      const auto now_ns = [&]() -> std::int64_t {
        const bool others_ended = jobs == 1 || taken.size() == 39;
        if (!others_ended || !std::filesystem::exists(mark)) return monotonic_ns();
        const pid_t process = std::stoi(read_file(mark));
        const bool stuck = stopped ? is_stopped(process) : ::kill(process, 0) == 0;
        return monotonic_ns() + (stuck ? static_cast<std::int64_t>(1e9 * kTimeout_s) + 1 : 0);
      };
      const std::string text = failure(
          {.jobs = jobs,
           .task_timeout_s = kTimeout_s,
           .peer_timeout_s = 1e9,
           .option_of_timeout = "--cell-timeout",
           .now_ns = now_ns},
          [&](std::size_t index, const TaskInput&) -> std::string {
            if (index != slow) return "";
            write_file(mark + "-new", std::to_string(::getpid()));
            std::filesystem::rename(mark + "-new", mark);
            if (stopped) ::raise(SIGSTOP);
            never_end();
          },
          &taken);
      CHECK(text == "stalled: task " + std::to_string(slow) +
                        " took longer than 3600.5 s; 1 of 40 tasks has no result: the same command "
                        "runs it again; give a longer --cell-timeout if it needs more time");
      CHECK(taken.size() == 39);
    }
  }
}

TEST_CASE("workers that cannot start end the run with the error", "[core][tasks]") {
  const auto fail_with = [](const std::function<Task()>& make_task) -> std::string {
    try {
      run_tasks(tasks_from(0, 9, make_task), {.jobs = 2}, [](std::span<const TaskReply>) {});
    } catch (const UserError& error) {
      return std::string("user: ") + error.what();
    } catch (const std::exception& error) {
      return std::string("other: ") + error.what();
    }
    return "";
  };
  CHECK(fail_with([]() -> Task { throw UserError("no memory"); }) == "user: no memory");
  CHECK(fail_with([]() -> Task { ::_exit(1); })
            .find("other: 6 worker processes in a row died "
                  "before they began a task") == 0);
}

TEST_CASE("workers die with their parent", "[core][tasks]") {
  // Each worker keeps the write end of a pipe open for its lifetime.
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    ::close(pipe_ends[0]);
    const auto make_task = [&]() -> Task {
      return [&](std::size_t, const TaskInput&) -> std::string {
        [[maybe_unused]] const ssize_t written = ::write(pipe_ends[1], "x", 1);
        never_end();
      };
    };
    run_tasks(tasks_from(0, 2, make_task), {.jobs = 2}, [](std::span<const TaskReply>) {});
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  char byte = 0;
  REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);
  REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);  // both workers are running
  REQUIRE(::kill(parent, SIGKILL) == 0);
  REQUIRE(::waitpid(parent, nullptr, 0) == parent);
  // The end of the pipe means that no worker is left. Only workers that live on reach the limit.
  pollfd polled{pipe_ends[0], POLLIN, 0};
  REQUIRE(::poll(&polled, 1, 600'000) == 1);
  CHECK(::read(pipe_ends[0], &byte, 1) == 0);
  ::close(pipe_ends[0]);
}

TEST_CASE("there is at least one usable core", "[core][tasks]") { CHECK(usable_cores() >= 1); }

}  // namespace
}  // namespace cclgym::test
