// Messages between the processes of a run on ranks: rank 0, the couriers of the nodes, their hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <sched.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/tasks/task.hpp"

namespace cclgym {

/// Kind of a message: its first four bytes. Each has the parts that are named here.
enum class MessageKind : std::uint32_t {
  Start,    ///< courier to host: the cores of each rank of the node
  Hello,    ///< host to rank 0: Greeting
  Failed,   ///< host to rank 0: Failure; the host ends
  Replies,  ///< host to rank 0: ends of tasks
  Round,    ///< rank 0 to host: TaskRound
  Work,     ///< rank 0 to host: TaskOrders
  Alive,    ///< courier to rank 0, rank 0 to courier: a sign of life; from rank 0 with its timeout
  End,      ///< courier to rank 0: the host has ended, with the reason; rank 0 to courier: all is
            ///< done
  Bye,      ///< courier to rank 0: answer to the end
};

/// Identity of a host and of its tasks.
struct Greeting {
  std::string version;   ///< version of the program
  std::string identity;  ///< TaskSet::identity
  std::size_t simulators = 0;

  friend bool operator==(const Greeting&, const Greeting&) = default;
};

/// End of a host before or instead of its work.
struct Failure {
  int code = 0;  ///< exit code of the command
  std::string text;
};

[[nodiscard]] std::string message_of(MessageKind kind);
[[nodiscard]] std::string start_message(const std::vector<cpu_set_t>& cores);
[[nodiscard]] std::string hello_message(const Greeting& greeting);
[[nodiscard]] std::string failed_message(const Failure& failure);
[[nodiscard]] std::string replies_message(const std::vector<TaskReply>& replies);
[[nodiscard]] std::string round_begin_message(const TaskRound& round);
[[nodiscard]] std::string work_message(const std::vector<TaskOrder>& tasks);
[[nodiscard]] std::string alive_message(double timeout_s);

/// The kind of a message, which is taken off its start. Throws std::runtime_error if it has none.
[[nodiscard]] MessageKind take_kind(std::string_view& message);
// The parts of a message after its kind. A message that is too short gives what it has.
[[nodiscard]] std::vector<cpu_set_t> read_start(std::string_view message);
[[nodiscard]] Greeting read_hello(std::string_view message);
[[nodiscard]] Failure read_failed(std::string_view message);
[[nodiscard]] std::vector<TaskReply> read_replies(std::string_view message);
[[nodiscard]] TaskRound read_round(std::string_view message);
[[nodiscard]] std::vector<TaskOrder> read_work(std::string_view message);
[[nodiscard]] double read_alive(std::string_view message);

}  // namespace cclgym
