#include "core/ranks/messages.hpp"

#include <stdexcept>

#include "core/tasks/simulator.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

template <class Value>
std::vector<Value> values_of(std::string_view bytes) {
  std::vector<Value> values;
  while (const std::optional<Value> value = get<Value>(bytes)) values.push_back(*value);
  return values;
}

}  // namespace

std::string message_of(MessageKind kind) {
  std::string message;
  put(message, kind);
  return message;
}

std::string start_message(const std::vector<cpu_set_t>& cores) {
  std::string message = message_of(MessageKind::Start);
  for (const cpu_set_t& set : cores) put(message, set);
  return message;
}

std::string hello_message(const Greeting& greeting) {
  std::string message = message_of(MessageKind::Hello);
  put_text(message, greeting.version);
  put_text(message, greeting.identity);
  put(message, greeting.simulators);
  return message;
}

std::string failed_message(const Failure& failure) {
  std::string message = message_of(MessageKind::Failed);
  put(message, failure.code);
  put_text(message, failure.text);
  return message;
}

std::string replies_message(const std::vector<TaskReply>& replies) {
  std::string message = message_of(MessageKind::Replies);
  for (const TaskReply& reply : replies) put_reply(message, reply);
  return message;
}

std::string round_begin_message(const TaskRound& round) {
  std::string message = message_of(MessageKind::Round);
  put(message, round.number);
  message += round.common;
  return message;
}

std::string work_message(const std::vector<TaskOrder>& tasks) {
  std::string message = message_of(MessageKind::Work);
  for (const TaskOrder& task : tasks) put_order(message, task);
  return message;
}

std::string alive_message(double timeout_s) {
  std::string message = message_of(MessageKind::Alive);
  put(message, timeout_s);
  return message;
}

MessageKind take_kind(std::string_view& message) {
  const std::optional<MessageKind> kind = get<MessageKind>(message);
  if (!kind) throw std::runtime_error("an empty message came from another rank");
  return *kind;
}

std::vector<cpu_set_t> read_start(std::string_view message) {
  return values_of<cpu_set_t>(message);
}

Greeting read_hello(std::string_view message) {
  Greeting greeting;
  greeting.version = get_text(message).value_or("");
  greeting.identity = get_text(message).value_or("");
  greeting.simulators = get<std::size_t>(message).value_or(0);
  return greeting;
}

Failure read_failed(std::string_view message) {
  Failure failure;
  failure.code = get<int>(message).value_or(70);
  failure.text = get_text(message).value_or("");
  return failure;
}

std::vector<TaskReply> read_replies(std::string_view message) {
  std::vector<TaskReply> replies;
  while (std::optional<TaskReply> reply = get_reply(message)) replies.push_back(std::move(*reply));
  return replies;
}

TaskRound read_round(std::string_view message) {
  TaskRound round;
  round.number = get<std::uint32_t>(message).value_or(0);
  round.common = message;
  return round;
}

std::vector<TaskOrder> read_work(std::string_view message) {
  std::vector<TaskOrder> orders;
  while (std::optional<TaskOrder> order = get_order(message)) orders.push_back(std::move(*order));
  return orders;
}

double read_alive(std::string_view message) { return get<double>(message).value_or(0); }

}  // namespace cclgym
