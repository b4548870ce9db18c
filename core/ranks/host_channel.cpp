#include "core/ranks/host_channel.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "core/tasks/task_host.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

void HostChannel::send(const std::string& message) {
  if (!alive()) return;
  put_text(outbox_, message);
  // receive() notices the end of a host.
  static_cast<void>(send_some(channel_, outbox_));
}

std::vector<std::string> HostChannel::receive() {
  std::vector<std::string> messages;
  if (!alive()) return messages;
  static_cast<void>(send_some(channel_, outbox_));
  const bool open = receive_some(channel_, inbox_);
  std::string_view bytes = inbox_;
  while (std::optional<std::string> message = get_text(bytes)) {
    messages.push_back(std::move(*message));
  }
  inbox_.erase(0, inbox_.size() - bytes.size());
  if (!open) reap();
  return messages;
}

bool HostChannel::runs() const { return alive() && !is_stopped(host_); }

void HostChannel::end() {
  if (!alive()) return;
  ::kill(host_, SIGKILL);
  reap();
}

void HostChannel::reap() {
  int status = 0;
  ::waitpid(host_, &status, 0);
  reason_ = WIFSIGNALED(status)
                ? fmt::format("process {} was killed by signal {} ({})", host_, WTERMSIG(status),
                              ::strsignal(WTERMSIG(status)))
                : fmt::format("process {} ended with status {}", host_, WEXITSTATUS(status));
  ::close(channel_);
  host_ = 0;
  channel_ = -1;
}

void Backoff::wait(int file) {
  pollfd polled{file, POLLIN, 0};
  const timespec limit{0, wait_us_ * 1000};
  ::ppoll(&polled, 1, &limit, nullptr);
  wait_us_ = std::min(2 * wait_us_, kLast_us);
}

}  // namespace cclgym
