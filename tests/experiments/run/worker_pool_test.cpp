// Tests of worker processes: order, failures, deaths.
#include "experiments/run/worker_pool.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

std::string name_of(std::size_t index) { return "task " + std::to_string(index); }

// The exception of run_tasks with its type; "" if none.
std::string failure(std::size_t jobs, const Task& task, std::vector<std::size_t>* taken = nullptr) {
  const auto take = [&](std::size_t index, const std::string&) {
    if (taken != nullptr) taken->push_back(index);
  };
  try {
    run_tasks(
        0, 40, jobs, [&] { return task; }, take, name_of);
  } catch (const UserError& error) {
    return std::string("user: ") + error.what();
  } catch (const SimulationStalled& error) {
    return std::string("stalled: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what();
  }
  return "";
}

TEST_CASE("results come back in task order for any number of jobs", "[experiments][worker-pool]") {
  for (const std::size_t jobs : {1U, 2U, 3U, 7U}) {
    std::vector<std::string> taken;
    const auto make_task = []() -> Task {
      return [](std::size_t index) {
        // Early tasks take longer than later ones, so replies come in another order.
        if (index % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        return "r" + std::to_string(index) + std::string(index == 17 ? 1'000'000 : 0, 'x');
      };
    };
    run_tasks(
        3, 60, jobs, make_task,
        [&](std::size_t index, const std::string& text) {
          CHECK(index == taken.size() + 3);
          taken.push_back(text);
        },
        name_of);
    REQUIRE(taken.size() == 57);
    CHECK(taken[0] == "r3");
    CHECK(taken[14].size() == 1'000'003);
    CHECK(taken[56] == "r59");
  }
}

TEST_CASE("no tasks: nothing happens", "[experiments][worker-pool]") {
  run_tasks(
      5, 5, 4, []() -> Task { throw std::logic_error("not called"); },
      [](std::size_t, const std::string&) { FAIL("not called"); }, name_of);
}

TEST_CASE("the first failing task is reported with its kind, after all before it are taken",
          "[experiments][worker-pool]") {
  for (const std::size_t jobs : {1U, 2U, 4U}) {
    std::vector<std::size_t> taken;
    const auto failing = [](std::size_t index) -> std::string {
      if (index == 11) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // 12 fails before this task
        throw UserError("eleven");
      }
      if (index >= 12) throw SimulationStalled("twelve");
      return "";
    };
    CHECK(failure(jobs, failing, &taken) == "user: eleven");
    CHECK(taken.size() == 11);
    CHECK(failure(jobs, [](std::size_t) -> std::string { throw SimulationStalled("all"); }) ==
          "stalled: all");
    CHECK(failure(jobs, [](std::size_t) -> std::string { throw std::logic_error("bug"); }) ==
          "other: bug");
  }
}

TEST_CASE("a worker that dies names its task", "[experiments][worker-pool]") {
  const std::string killed = failure(2, [](std::size_t index) -> std::string {
    if (index == 9) ::raise(SIGKILL);
    return "";
  });
  CHECK(killed.find("other: worker process ") == 0);
  CHECK(killed.find("was killed by signal 9 (Killed) in task 9") != std::string::npos);
  const std::string ended = failure(2, [](std::size_t index) -> std::string {
    if (index == 9) ::_exit(5);
    return "";
  });
  CHECK(ended.find("ended with status 5 in task 9") != std::string::npos);
}

TEST_CASE("workers die with their parent", "[experiments][worker-pool]") {
  // Each worker keeps the write end of a pipe open for its lifetime.
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    ::close(pipe_ends[0]);
    const auto make_task = [&]() -> Task {
      return [&](std::size_t) -> std::string {
        const ssize_t written = ::write(pipe_ends[1], "x", 1);
        std::this_thread::sleep_for(std::chrono::seconds(600));
        return std::to_string(written);
      };
    };
    run_tasks(
        0, 2, 2, make_task, [](std::size_t, const std::string&) {}, name_of);
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  char byte = 0;
  REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);
  REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);  // both workers are running
  REQUIRE(::kill(parent, SIGKILL) == 0);
  REQUIRE(::waitpid(parent, nullptr, 0) == parent);
  const auto start = std::chrono::steady_clock::now();
  CHECK(::read(pipe_ends[0], &byte, 1) == 0);  // end of the pipe: no worker is left
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  ::close(pipe_ends[0]);
}

TEST_CASE("there is at least one usable core", "[experiments][worker-pool]") {
  CHECK(usable_cores() >= 1);
}

}  // namespace
}  // namespace cclgym
