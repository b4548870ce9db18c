#include "cli/support/interrupt.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace cclgym {

namespace {

constexpr int kSignalExit = 128;  // plus the signal, as in shells

// A signal handler can only use globals. It must not allocate, so the message is made beforehand,
// alternating between two places so that the handler never sees an incomplete one.
std::array<std::string, 2> g_messages;
std::atomic<const std::string*> g_message{nullptr};
std::atomic<pid_t> g_process{0};
static_assert(std::atomic<const std::string*>::is_always_lock_free);

extern "C" void on_interrupt(int signal) {
  // Worker processes get the signal, too; they end with their parent.
  if (::getpid() != g_process.load()) return;
  const std::string& message = *g_message.load();
  // If the message cannot be written, there is nowhere to report that.
  if (::write(STDERR_FILENO, message.data(), message.size()) < 0) ::_exit(kSignalExit + signal);
  ::_exit(kSignalExit + signal);
}

void set_message(std::string text) {
  std::string& next = g_messages[g_message.load() == g_messages.data() ? 1 : 0];
  next = std::move(text);
  g_message = &next;
}

}  // namespace

InterruptNotice::InterruptNotice(std::size_t total, bool terminal)
    : total_(total), terminal_(terminal) {
  update(0);
  take_signal();
}

InterruptNotice::InterruptNotice(const std::string& message, bool terminal)
    : total_(0), terminal_(terminal) {
  say(message);
  take_signal();
}

void InterruptNotice::take_signal() {
  g_process = ::getpid();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

InterruptNotice::~InterruptNotice() {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
}

void InterruptNotice::say(const std::string& message) {
  set_message(fmt::format("{}{}\n", terminal_ ? "\n" : "", message));
}

void InterruptNotice::update(std::size_t done) {
  set_message(fmt::format("{}interrupted: {} of {} cells done; the same command resumes\n",
                          terminal_ ? "\n" : "", done, total_));
}

}  // namespace cclgym
