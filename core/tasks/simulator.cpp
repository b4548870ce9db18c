#include "core/tasks/simulator.hpp"

#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

// Replies of short tasks are sent together, but no result waits longer than this.
constexpr std::int64_t kMaxWaitNanoseconds = 20'000'000;
constexpr std::size_t kEnoughBytes = std::size_t{1} << 16U;

// Kind of a message to a simulator: its first bytes.
enum class ToSimulator : std::uint32_t { Round, Tasks };

// Runs the tasks of a list; false if the host is gone.
bool run_list(int channel, std::string_view list, SimulatorState& state, const Task& task,
              const TaskRound& round) {
  std::string replies;
  std::int64_t sent_ns = monotonic_ns();
  while (const auto order = get_order(list)) {
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns - sent_ns > kMaxWaitNanoseconds || replies.size() > kEnoughBytes) {
      if (!send_all(channel, replies)) return false;
      replies.clear();
      sent_ns = now_ns;
    }
    state.since_ns = now_ns;
    state.task = order->index + 1;
    TaskReply reply = do_task(task, order->index, {.common = round.common, .own = order->input});
    reply.round = round.number;
    state.task = 0;
    put_reply(replies, reply);
  }
  return send_all(channel, replies);
}

}  // namespace

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string round_message(const TaskRound& round) {
  std::string content;
  put(content, ToSimulator::Round);
  put(content, round.number);
  content += round.common;
  std::string message;
  put_text(message, content);
  return message;
}

std::string tasks_message(const std::vector<TaskOrder>& tasks) {
  std::string content;
  put(content, ToSimulator::Tasks);
  for (const TaskOrder& task : tasks) put_order(content, task);
  std::string message;
  put_text(message, content);
  return message;
}

void put_order(std::string& bytes, const TaskOrder& order) {
  put(bytes, static_cast<std::uint64_t>(order.index));
  put_text(bytes, order.input);
}

std::optional<TaskOrder> get_order(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto index = get<std::uint64_t>(rest);
  std::optional<std::string> input = get_text(rest);
  if (!index || !input) return std::nullopt;
  bytes = rest;
  return TaskOrder{.index = static_cast<std::size_t>(*index), .input = std::move(*input)};
}

void put_reply(std::string& bytes, const TaskReply& reply) {
  put(bytes, static_cast<std::uint64_t>(reply.index));
  put(bytes, reply.round);
  put(bytes, reply.outcome);
  put(bytes, reply.seconds);
  put_text(bytes, reply.text);
}

std::optional<TaskReply> get_reply(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto index = get<std::uint64_t>(rest);
  const auto round = get<std::uint32_t>(rest);
  const auto outcome = get<Outcome>(rest);
  const auto seconds = get<double>(rest);
  std::optional<std::string> text = get_text(rest);
  if (!index || !round || !outcome || !seconds || !text) return std::nullopt;
  bytes = rest;
  return TaskReply{.index = static_cast<std::size_t>(*index),
                   .round = *round,
                   .outcome = *outcome,
                   .seconds = *seconds,
                   .text = std::move(*text)};
}

void simulate_tasks(int channel, pid_t host, SimulatorState& state,
                    const std::function<Task()>& make_task) {
  // Die with the host, even in the middle of a long task. The host may be gone already.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != host) ::_exit(1);
  Task task;
  const TaskReply started = do_task(
      [&](std::size_t, const TaskInput&) {
        task = make_task();
        return std::string();
      },
      0);
  if (started.outcome != Outcome::Done) {
    // The text keeps the kind of the failure in front of its message.
    TaskReply reply{.index = 0, .outcome = Outcome::NotStarted};
    put(reply.text, started.outcome);
    reply.text += started.text;
    std::string message;
    put_reply(message, reply);
    ::_exit(send_all(channel, message) ? 0 : 1);
  }
  std::string inbox;
  TaskRound round;
  while (const std::optional<std::string> message = receive_text(channel, inbox)) {
    std::string_view content = *message;
    if (get<ToSimulator>(content) == ToSimulator::Round) {
      round.number = get<std::uint32_t>(content).value_or(0);
      round.common = content;
    } else if (!run_list(channel, content, state, task, round)) {
      break;
    }
  }
  ::_exit(0);  // not exit(): that would run the host's handlers
}

}  // namespace cclgym
